package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// set returns n files of the given records, named in order, and shuffled.
func set(records ...int64) []File {
	files := make([]File, len(records))
	for i, n := range records {
		files[i] = File{Name: fmt.Sprintf("train-%05d", i), Records: n, Bytes: 100 * n}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	return files
}

func random(seed uint64, n int, most int64) []int64 {
	r, ns := rand.New(rand.NewPCG(seed, 0)), make([]int64, n)
	for i := range ns {
		ns[i] = r.Int64N(most)
	}
	return ns
}

func indices(a Assignment) [][]string {
	var out [][]string
	for _, files := range a {
		out = append(out, Names(files))
	}
	return out
}

func TestMod(t *testing.T) {
	// Not the order of numbers: 10 sorts before 9, as in the readers.
	a, err := Mod([]File{{Name: "9"}, {Name: "10"}, {Name: "a"}, {Name: "Z"}, {Name: "é"}}, 2)
	want := [][]string{{"10", "Z", "é"}, {"9", "a"}}
	if err != nil || !slices.EqualFunc(indices(a), want, slices.Equal) {
		t.Errorf("got %v, %v, want %v", indices(a), err, want)
	}
}

func TestLPT(t *testing.T) {
	a, err := LPT(set(3, 3, 2, 2, 2), 2, ByRecords)
	want := [][]string{{"train-00000", "train-00002", "train-00004"}, {"train-00001", "train-00003"}}
	if err != nil || !slices.EqualFunc(indices(a), want, slices.Equal) {
		t.Errorf("got %v, %v, want %v", indices(a), err, want)
	}
	if got := a.Records(); !slices.Equal(got, []int64{7, 5}) {
		t.Errorf("records: got %v, want [7 5]", got)
	}
	files := []File{{Name: "a", Records: 1, Bytes: 9}, {Name: "b", Records: 9, Bytes: 5}, {Name: "c", Records: 1, Bytes: 5}}
	a, err = LPT(files, 2, ByBytes)
	want = [][]string{{"a"}, {"b", "c"}}
	if err != nil || !slices.EqualFunc(indices(a), want, slices.Equal) {
		t.Errorf("by bytes: got %v, %v, want %v", indices(a), err, want)
	}
}

func TestLPTIsNearTheBest(t *testing.T) {
	for seed := range uint64(100) {
		records := random(seed, 7, 100)
		for n := 2; n <= 4; n++ {
			a, err := LPT(set(records...), n, ByRecords)
			if err != nil {
				t.Fatal(err)
			}
			_, most := bounds(a.Records())
			best := lowestMaximum(records, make([]int64, n))
			if bound := float64(best) * (4.0/3 - 1/(3*float64(n))); float64(most) > bound {
				t.Errorf("%v, %d trainers: load %d, best %d, bound %.1f", records, n, most, best, bound)
			}
		}
	}
}

// lowestMaximum tries all ways to give the remaining weights to the loads.
func lowestMaximum(rest, loads []int64) int64 {
	if len(rest) == 0 {
		return slices.Max(loads)
	}
	lowest := int64(math.MaxInt64)
	for i := range loads {
		loads[i] += rest[0]
		lowest = min(lowest, lowestMaximum(rest[1:], loads))
		loads[i] -= rest[0]
	}
	return lowest
}

// TestAssignmentsAreComplete checks that every file is assigned exactly once, that no trainer is
// idle, and that the order of files does not matter.
func TestAssignmentsAreComplete(t *testing.T) {
	policies := map[string]func([]File, int) (Assignment, error){
		"mod": Mod, "rendezvous": Rendezvous,
		"lpt records": func(f []File, n int) (Assignment, error) { return LPT(f, n, ByRecords) },
		"lpt bytes":   func(f []File, n int) (Assignment, error) { return LPT(f, n, ByBytes) },
	}
	for name, policy := range policies {
		for files := 1; files < 30; files++ {
			records := random(uint64(files), files, 3) // many without any
			for n := 1; n <= files; n++ {
				a, err := policy(set(records...), n)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				sorted, err := policy(sortedSet(records), n)
				if err != nil || !slices.EqualFunc(indices(a), indices(sorted), slices.Equal) {
					t.Errorf("%s: %d files, %d trainers: depends on the order of files", name, files, n)
				}
				var all []string
				for i, f := range a {
					if len(f) == 0 || !slices.IsSorted(Names(f)) {
						t.Errorf("%s: %d files, %d trainers: trainer %d has %v", name, files, n, i, Names(f))
					}
					all = append(all, Names(f)...)
				}
				slices.Sort(all)
				if !slices.Equal(all, Names(sortedSet(records))) {
					t.Errorf("%s: %d files, %d trainers: got all of %v", name, files, n, all)
				}
			}
		}
	}
}

func sortedSet(records []int64) []File {
	files, _ := sorted(set(records...))
	return files
}

func TestRendezvousMovesLittle(t *testing.T) {
	const files = 2000
	for _, n := range []int{2, 4, 10, 50} {
		before, err := Rendezvous(set(make([]int64, files)...), n)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Rendezvous(set(make([]int64, files)...), n+1)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for i := range before {
			for _, f := range before[i] {
				if slices.Contains(after[i], f) {
					kept++
				}
			}
			if most := (files*5 + 4*n - 1) / (4 * n); len(before[i]) > most {
				t.Errorf("%d trainers: trainer %d has %d files, more than %d", n, i, len(before[i]), most)
			}
		}
		moved, ideal := float64(files-kept)/files, 1/float64(n+1)
		if moved > 1.5*ideal {
			t.Errorf("from %d trainers to one more: %.3f moved, ideal %.3f", n, moved, ideal)
		}
	}
}

// TestRendezvousNeverChanges checks the assignment, on which the caches of trainers depend.
func TestRendezvousNeverChanges(t *testing.T) {
	a, err := Rendezvous(set(1, 1, 1, 1, 1, 1), 3)
	want := [][]string{{"train-00003"}, {"train-00000", "train-00001", "train-00004"}, {"train-00002", "train-00005"}}
	if err != nil || !slices.EqualFunc(indices(a), want, slices.Equal) {
		t.Errorf("got %v, %v, want %v", indices(a), err, want)
	}
}

func TestAssignmentsRefuse(t *testing.T) {
	mod := func(n int, files ...File) error { _, err := Mod(files, n); return err }
	rendezvous := func(n int, files ...File) error { _, err := Rendezvous(files, n); return err }
	lpt := func(n int, w Weight, files ...File) error { _, err := LPT(files, n, w); return err }
	tests := []struct {
		name string
		got  error
		want error
	}{
		{"no trainers", mod(0, File{Name: "a"}), ErrTrainer},
		{"fewer files than trainers", mod(2, File{Name: "a"}), ErrIdle},
		{"fewer files than trainers, rendezvous", rendezvous(2, File{Name: "a"}), ErrIdle},
		{"no files", lpt(1, ByRecords), ErrIdle},
		{"a file twice", mod(1, File{Name: "a"}, File{Name: "a"}), ErrDuplicate},
		{"no name", mod(1, File{}), ErrFile},
		{"a name of two lines", mod(1, File{Name: "a\nb"}), ErrFile},
		{"negative records", mod(1, File{Name: "a", Records: -1}), ErrFile},
		{"records that overflow", mod(1, File{Name: "a", Records: math.MaxInt64}, File{Name: "b", Records: 1}), ErrFile},
		{"unknown weight", lpt(1, ByBytes+1, File{Name: "a"}), ErrOption},
		{"id beyond the trainers", Trainer{3, 3}.Check(), ErrTrainer},
		{"id below 0", Trainer{-1, 3}.Check(), ErrTrainer},
	}
	for _, tt := range tests {
		if !errors.Is(tt.got, tt.want) || !errors.Is(tt.got, fs.ErrInvalid) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestStepsOf(t *testing.T) {
	tests := []struct {
		records []int64
		equal   Equal
		want    Tail
	}{
		{[]int64{5, 3, 4}, Exact, Tail{Steps: 5}},
		{[]int64{5, 3, 4}, Drop, Tail{Steps: 3, Dropped: 3}},
		{[]int64{5, 3, 4}, Pad, Tail{Steps: 5, Repeated: 3}},
		{[]int64{4, 4}, Pad, Tail{Steps: 4}},
		{[]int64{0, 0}, Pad, Tail{}},
		{nil, Drop, Tail{}},
	}
	for _, tt := range tests {
		if got, err := StepsOf(tt.records, tt.equal); got != tt.want || err != nil {
			t.Errorf("%v, %v: got %+v, %v, want %+v", tt.records, tt.equal, got, err, tt.want)
		}
	}
	if _, err := StepsOf([]int64{1, 0}, Pad); !errors.Is(err, ErrIdle) {
		t.Errorf("pad a trainer without records: got %v, want ErrIdle", err)
	}
}

func TestParseEqual(t *testing.T) {
	for _, e := range []Equal{Exact, Drop, Pad} {
		if got, err := ParseEqual(e.String()); got != e || err != nil {
			t.Errorf("%v: got %v, %v", e, got, err)
		}
	}
	if _, err := ParseEqual("even"); !errors.Is(err, ErrOption) {
		t.Errorf("got %v, want ErrOption", err)
	}
}
