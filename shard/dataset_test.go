package shard

import (
	"errors"
	"slices"
	"testing"
)

func dataset(t testing.TB, records ...int64) *Dataset {
	t.Helper()
	d, err := NewDataset(set(records...))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLocate(t *testing.T) {
	d := dataset(t, 0, 3, 0, 0, 2, 0)
	want := [][2]int64{{1, 0}, {1, 1}, {1, 2}, {4, 0}, {4, 1}}
	for i, w := range want {
		file, number, err := d.Locate(int64(i))
		if err != nil || int64(file) != w[0] || number != w[1] {
			t.Errorf("record %d: got file %d, record %d, %v, want %v", i, file, number, err, w)
		}
	}
	for _, i := range []int64{-1, 5} {
		if _, _, err := d.Locate(i); !errors.Is(err, ErrFile) {
			t.Errorf("record %d: got %v, want ErrFile", i, err)
		}
	}
}

// TestRangeIsExact checks that ranges differ by at most one record, cover everything once and in
// order, and that every span is within its file.
func TestRangeIsExact(t *testing.T) {
	for seed := range uint64(40) {
		d := dataset(t, random(seed, int(seed%7)+1, 20)...)
		for n := 1; int64(n) <= d.Len() && n < 12; n++ {
			var next int64
			for id := range n {
				spans, err := d.Range(Trainer{id, n})
				if err != nil {
					t.Fatal(err)
				}
				var sum int64
				for _, s := range spans {
					file, number, err := d.Locate(next)
					if err != nil || d.Files()[file].Name != s.File || number != s.First || s.Records < 1 ||
						s.First+s.Records > d.Files()[file].Records {
						t.Fatalf("seed %d, trainer %d of %d: span %+v begins at file %d, record %d", seed, id, n, s, file, number)
					}
					next, sum = next+s.Records, sum+s.Records
				}
				if floor := d.Len() / int64(n); sum != floor && sum != floor+1 {
					t.Errorf("seed %d: trainer %d of %d has %d of %d records", seed, id, n, sum, d.Len())
				}
			}
			if next != d.Len() {
				t.Errorf("seed %d, %d trainers: %d of %d records", seed, n, next, d.Len())
			}
		}
	}
}

func TestRangeRefuses(t *testing.T) {
	d := dataset(t, 1, 1)
	if _, err := d.Range(Trainer{0, 3}); !errors.Is(err, ErrIdle) {
		t.Errorf("more trainers than records: got %v, want ErrIdle", err)
	}
	if _, err := d.Range(Trainer{2, 2}); !errors.Is(err, ErrTrainer) {
		t.Errorf("trainer 2 of 2: got %v, want ErrTrainer", err)
	}
	if got := d.Spans(-5, 100); !slices.Equal(got, []Span{{"train-00000", 0, 1}, {"train-00001", 0, 1}}) {
		t.Errorf("spans beyond the dataset: got %v", got)
	}
}

func TestFingerprint(t *testing.T) {
	d := dataset(t, 1, 2)
	const want = "c4046781a35fcee7" // a format: it never changes
	if got := d.Fingerprint(nil); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	others := []string{dataset(t, 2, 1).Fingerprint(nil), dataset(t, 1, 2, 0).Fingerprint(nil), d.Fingerprint([]int64{3}), d.Fingerprint([]int64{1, 2})}
	seen := map[string]bool{want: true}
	for _, f := range others {
		if seen[f] {
			t.Errorf("fingerprint %s twice", f)
		}
		seen[f] = true
	}
}
