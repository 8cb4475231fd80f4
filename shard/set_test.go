package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// ofSet returns the names of a set but for those left out.
func ofSet(format string, files, of int, without ...int) []string {
	var names []string
	for i := range files {
		if !slices.Contains(without, i) {
			names = append(names, fmt.Sprintf(format, i, of))
		}
	}
	return names
}

func TestCheckSet(t *testing.T) {
	const f = "/pfs/dc/x/train-%05d-of-%05d"
	tests := []struct {
		name  string
		names []string
		of    Of
		want  SetError
	}{
		{"nothing", nil, OfAny, SetError{}},
		{"no -of-", []string{"part-00001.gz", "part-00007.gz", "x"}, OfAny, SetError{}},
		{"complete, count", ofSet(f, 10, 10), OfAny, SetError{}},
		{"complete, last", ofSet(f, 10, 9), OfAny, SetError{}},
		{"complete, as stated", ofSet(f, 10, 9), OfLast, SetError{}},
		{"two stems", append(ofSet(f, 2, 2), ofSet("test-%02d-of-%02d", 3, 2)...), OfAny, SetError{}},
		{"one of one, count", []string{"a-00000-of-00001"}, OfAny, SetError{}},
		{"one of one, last", []string{"a-00000-of-00000"}, OfAny, SetError{}},
		{"no dash, digits in the stem", ofSet("cifar10.%d-of-%d", 3, 3), OfAny, SetError{}},
		{"-of- in a directory", ofSet("1-of-2/x-%d-of-%d", 3, 3), OfAny, SetError{}},

		{"pieces of shards", []string{"a-00000-of-00007-00000", "a-00000-of-00007-00001", "a-0-of-2-1.mp3"}, OfAny, SetError{}},
		{"sets of pieces", ofSet("a-00000-of-00007-%05d-of-%05d", 3, 3), OfAny, SetError{}},
		{"a piece beside its whole", append(ofSet("a-%d-of-%d.gz", 2, 2), "a-1-of-2-0.gz", "a-1-of-3-0.gz"), OfAny,
			SetError{Stale: []string{"a-1-of-2-0.gz"}}},

		{"missing", ofSet(f, 10, 10, 3, 9), OfAny,
			SetError{Missing: []string{"/pfs/dc/x/train-00003-of-00010", "/pfs/dc/x/train-00009-of-00010"}, Absent: 2}},
		{"the last is missing", ofSet(f, 9, 9), OfLast,
			SetError{Missing: []string{"/pfs/dc/x/train-00009-of-00009"}, Absent: 1}},
		{"one beyond the count", ofSet(f, 10, 9), OfCount, SetError{Stale: []string{"/pfs/dc/x/train-00009-of-00009"}}},
		{"an earlier run", append(ofSet(f, 10, 10), ofSet(f, 2, 12)...), OfAny,
			SetError{Stale: []string{"/pfs/dc/x/train-00000-of-00012", "/pfs/dc/x/train-00001-of-00012"}}},
		{"numbered without -of-", append(ofSet("a-%02d-of-%02d", 2, 2), "a-00001", "a-00001.gz", "ab-00001"), OfAny,
			SetError{Stale: []string{"a-00001", "a-00001.gz"}}},
		{"other suffix", append(ofSet("a-%d-of-%d.gz", 4, 4, 1), "a-0-of-4", "a-1-of-4"), OfAny,
			SetError{Missing: []string{"a-1-of-4.gz"}, Absent: 1, Duplicate: []string{"a-0-of-4"}, Stale: []string{"a-1-of-4"}}},
		{"one name twice", append(ofSet("a-%d-of-%d", 2, 2), "a-1-of-2"), OfAny, SetError{Duplicate: []string{"a-1-of-2"}}},
		{"one number twice", append(ofSet("a-%02d-of-%02d", 2, 2), "a-1-of-2"), OfAny, SetError{Duplicate: []string{"a-1-of-2"}}},
		{"plain names twice", []string{"x", "x"}, OfAny, SetError{Duplicate: []string{"x"}}},
	}
	for _, tt := range tests {
		slices.Reverse(tt.names)
		err := CheckSet(tt.names, tt.of)
		got := &SetError{}
		if err != nil && !errors.As(err, &got) || !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, *got, tt.want)
		}
	}
}

// TestCheckSetIsBounded: a name may promise any number of files.
func TestCheckSetIsBounded(t *testing.T) {
	err := CheckSet([]string{"a-0-of-999999999999999999", "a-3-of-999999999999999999"}, OfAny)
	var got *SetError
	if !errors.As(err, &got) || got.Absent != 999999999999999997 || len(got.Missing) != maxNamed || got.Missing[2] != "a-4-of-999999999999999999" {
		t.Fatalf("got %+v", got)
	}
	if text := err.Error(); len(text) > 300 {
		t.Errorf("a message of %d bytes: %s", len(text), text)
	}
	if err := CheckSet([]string{"a-0000000000000000000-of-1", "a-0-of-9999999999999999999"}, OfAny); err != nil {
		t.Errorf("numbers beyond any count: got %v, want plain names", err)
	}
}

func TestCompareSet(t *testing.T) {
	if err := CompareSet([]string{"b", "a"}, []string{"a", "b"}); err != nil {
		t.Errorf("equal sets: %v", err)
	}
	err := CompareSet([]string{"a", "x", "a"}, []string{"a", "b", "c"})
	want := &SetError{Missing: []string{"b", "c"}, Absent: 2, Duplicate: []string{"a"}, Stale: []string{"x"}}
	if !reflect.DeepEqual(err, want) {
		t.Errorf("got %+v, want %+v", err, want)
	}
}

func TestSetError(t *testing.T) {
	err := CheckSet(append(ofSet("a-%02d-of-%02d", 9, 9, 1, 2, 3, 4, 5), "a-00"), OfAny)
	const want = "files are missing: a-01-of-09, a-02-of-09, a-03-of-09 and 2 more: the set is not complete; write or copy it again; " +
		"files of another set are mixed in: a-00: remove them, or use a narrower pattern"
	if err.Error() != want {
		t.Errorf("got %s\nwant %s", err, want)
	}
	for target, want := range map[error]bool{ErrMissing: true, ErrStale: true, ErrDuplicate: false, fs.ErrInvalid: true} {
		if errors.Is(err, target) != want {
			t.Errorf("is %v: got %v, want %v", target, !want, want)
		}
	}
}

func FuzzCheckSet(f *testing.F) {
	f.Add("a-00000-of-00002\na-00001-of-00002", uint8(0))
	f.Add("a-0-of-0\na-0\nb-1-of-1", uint8(2))
	f.Fuzz(func(t *testing.T, text string, of uint8) {
		names := strings.Split(text, "\n")
		err := CheckSet(names, Of(of%3))
		var e *SetError
		if errors.As(err, &e) && (int64(len(e.Missing)) > e.Absent || e.Error() == "" || len(e.Duplicate)+len(e.Stale) > len(names)) {
			t.Errorf("%q: %+v", names, e)
		}
	})
}
