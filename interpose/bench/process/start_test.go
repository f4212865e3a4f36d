package main

import "testing"

func TestReadStart(t *testing.T) {
	s := starts{ranks: 3}
	text := "start: 5000 300 20 1000\nhello\nstart: 9000 100 60 3000\nstart: 7000 200 40 2000\n"
	if slowest, err := s.read([]byte(text), true); err != nil || slowest != 9000 {
		t.Errorf("slowest %v, %v", slowest, err)
	}
	if s.init[0] != 200 || s.final[0] != 40 || s.outside[0] != 2000 {
		t.Errorf("%+v", s)
	}
	for name, bad := range map[string]string{
		"a rank is missing":     "start: 5000 300 20 1000\n",
		"nobody watched":        "start: 5 0 0 0\nstart: 5 0 0 0\nstart: 5 0 0 0\n",
		"half a line":           "start: 5\nstart: 5 1 1 1\nstart: 5 1 1 1\n",
		"nothing was said":      "",
		"a word and no number ": "start: a b c d\nstart: 5 1 1 1\nstart: 5 1 1 1\n",
	} {
		if _, err := s.read([]byte(bad), true); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := s.read([]byte(text), false); err == nil {
		t.Error("the plain run was watched, and nobody said so")
	}
}
