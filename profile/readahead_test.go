package profile

import (
	"errors"
	"fmt"
	"testing"
)

func TestReadAhead(t *testing.T) {
	const inputs, values = 100, 3
	enough := errors.New("enough")
	for _, most := range []int{inputs * values, 50, 1} {
		used := 0
		err := ReadAhead(inputs, 1, func(i int, give func(int) error) error {
			for v := range values {
				if err := give(values*i + v); err != nil {
					return err
				}
			}
			return nil
		}, func(i, v int) error {
			if i != used/values || v != used {
				t.Fatalf("value %d of input %d in place %d", v, i, used)
			}
			if used++; used == most && most < inputs*values {
				return enough
			}
			return nil
		})
		if used != most || (most < inputs*values) != errors.Is(err, enough) {
			t.Errorf("used %d of %d, %v", used, most, err)
		}
	}
}

func TestReadAheadError(t *testing.T) {
	used := 0
	err := ReadAhead(100, 8, func(i int, give func(int) error) error {
		if i == 20 {
			return fmt.Errorf("input %d is damaged", i)
		}
		return give(i)
	}, func(int, int) error { used++; return nil })
	if err == nil || err.Error() != "input 20 is damaged" || used != 20 {
		t.Errorf("used %d, %v; want the 20 before the error", used, err)
	}
}
