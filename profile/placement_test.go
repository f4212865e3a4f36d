package profile

import "testing"

func TestProcessors(t *testing.T) {
	for _, list := range []string{"", "0", "0-3", "0-3,8", "1,3,5-6,65535"} {
		processors, err := ParseProcessors(list)
		if back := ProcessorList(processors); err != nil || back != list {
			t.Errorf("%q is read as %v, %v, and written as %q", list, processors, err, back)
		}
	}
	for _, list := range []string{"x", "3-1", "-1", "0-65536", "1,,2", "1-", "8,0-3", "0-3,3", "0-65535,0-65535"} {
		if processors, err := ParseProcessors(list); err == nil {
			t.Errorf("%q is read as %v", list, processors)
		}
	}
}
