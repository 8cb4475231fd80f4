package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// epoch runs one epoch in which the number of trainers changes at random, each time going on from
// the cursor alone. It returns how often each record was given, and the tail of the last phase.
func epoch(t *testing.T, r *rand.Rand, o Order, e Equal) (given []int, tail Tail) {
	t.Helper()
	given = make([]int, o.Len())
	var cursor int64
	for {
		n := 1 + r.IntN(9)
		tail = TailOf(o.Len()-cursor, Trainer{Count: n}, e)
		if tail.Steps == 0 {
			return given, tail
		}
		steps := 1 + r.Int64N(tail.Steps)
		last := steps == tail.Steps
		cursor = phase(t, o, cursor, n, steps, e, given)
		if last {
			return given, tail
		}
	}
}

// phase has n trainers make the given number of steps from cursor on, and returns the cursor of
// trainer 0.
func phase(t *testing.T, o Order, cursor int64, n int, steps int64, e Equal, given []int) int64 {
	t.Helper()
	next := cursor
	for id := range n {
		w, err := NewWalk(o, cursor, Trainer{id, n}, e)
		if err != nil {
			t.Fatal(err)
		}
		for range steps {
			record, ok := w.Next()
			if !ok && e != Exact {
				t.Fatalf("trainer %d of %d ended early with %v", id, n, e)
			}
			if ok {
				given[record]++
			}
		}
		if id == 0 {
			next = w.Cursor()
		}
	}
	return next
}

// TestCursorSurvivesAnyTrainerCount checks the promise of the package: with Exact every record is
// read exactly once an epoch for every sequence of numbers of trainers; with Drop and Pad, TailOf
// returns the number of dropped or repeated records.
func TestCursorSurvivesAnyTrainerCount(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		blocks := random(seed, 1+int(seed%9), 30)
		b := block(t, 1+r.IntN(4), seed, 0, blocks...)
		orders := []Order{Sequential(b.Len()), NewGlobal(b.Len(), seed, 1), b, lanes(t, b, 1+r.IntN(9))}
		for _, o := range orders {
			for _, e := range []Equal{Exact, Drop, Pad} {
				given, tail := epoch(t, r, o, e)
				checkEpoch(t, fmt.Sprintf("seed %d, %T, %v", seed, o, e), given, tail, e)
			}
		}
	}
}

func checkEpoch(t *testing.T, name string, given []int, tail Tail, e Equal) {
	t.Helper()
	var never, again int64
	for _, n := range given {
		if n == 0 {
			never++
		} else {
			again += int64(n - 1)
		}
	}
	if never != tail.Dropped || again != tail.Repeated {
		t.Errorf("%s: %d records never given and %d again, want %d and %d", name, never, again, tail.Dropped, tail.Repeated)
	}
	if e == Exact && (never > 0 || again > 0) {
		t.Errorf("%s: not each record exactly once", name)
	}
}

// TestOneByOne changes the number of trainers after each step, through all pairs.
func TestOneByOne(t *testing.T) {
	for a := 1; a < 8; a++ {
		for b := 1; b < 8; b++ {
			o := NewGlobal(101, 1, 2)
			given, cursor := make([]int, o.Len()), int64(0)
			for cursor < o.Len() {
				cursor = phase(t, o, cursor, a, 1, Exact, given)
				cursor = phase(t, o, cursor, b, 1, Exact, given)
			}
			checkEpoch(t, fmt.Sprintf("%d and %d trainers", a, b), given, Tail{}, Exact)
		}
	}
}

func TestWalkFollowsTheOrder(t *testing.T) {
	o := NewGlobal(10, 0, 0)
	w, err := NewWalk(o, 4, Trainer{1, 3}, Pad)
	if err != nil {
		t.Fatal(err)
	}
	want := []int64{o.At(5), o.At(8)}
	for i, want := range want {
		if got, ok := w.Next(); got != want || !ok {
			t.Errorf("step %d: got %d, %v, want %d", i, got, ok, want)
		}
	}
	if got, ok := w.Next(); ok {
		t.Errorf("behind the end: got %d", got)
	}
	if w.Cursor() != 10 || w.left != 0 {
		t.Errorf("cursor and steps at the end: got %d, %d, want 10, 0", w.Cursor(), w.left)
	}
}

// TestPadRepeatsFromTheBeginning even when there are many more trainers than records.
func TestPadRepeatsFromTheBeginning(t *testing.T) {
	for id := range 8 {
		w, err := NewWalk(Sequential(3), 0, Trainer{id, 8}, Pad)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := w.Next(); !ok || got != int64(id%3) {
			t.Errorf("trainer %d: got %d, %v, want %d", id, got, ok, id%3)
		}
	}
}

func TestTailOf(t *testing.T) {
	tests := []struct {
		records int64
		trainer Trainer
		equal   Equal
		want    Tail
	}{
		{10, Trainer{0, 4}, Exact, Tail{Steps: 3}},
		{10, Trainer{3, 4}, Exact, Tail{Steps: 2}},
		{10, Trainer{0, 4}, Drop, Tail{Steps: 2, Dropped: 2}},
		{10, Trainer{3, 4}, Pad, Tail{Steps: 3, Repeated: 2}},
		{8, Trainer{3, 4}, Pad, Tail{Steps: 2}},
		{0, Trainer{0, 4}, Pad, Tail{}},
	}
	for _, tt := range tests {
		if got := TailOf(tt.records, tt.trainer, tt.equal); got != tt.want {
			t.Errorf("%d records, %v, %v: got %+v, want %+v", tt.records, tt.trainer, tt.equal, got, tt.want)
		}
	}
}

func TestNewWalkRefuses(t *testing.T) {
	tests := []struct {
		name    string
		cursor  int64
		trainer Trainer
		equal   Equal
		want    error
	}{
		{"trainer beyond", 0, Trainer{2, 2}, Exact, ErrTrainer},
		{"cursor beyond", 11, Trainer{0, 2}, Exact, ErrCursor},
		{"cursor below", -1, Trainer{0, 2}, Exact, ErrCursor},
		{"unknown way", 0, Trainer{0, 2}, Pad + 1, ErrOption},
	}
	for _, tt := range tests {
		if _, err := NewWalk(Sequential(10), tt.cursor, tt.trainer, tt.equal); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	if _, err := NewWalk(Sequential(10), 10, Trainer{0, 2}, Exact); err != nil {
		t.Errorf("cursor at the end: %v", err)
	}
}

func TestShuffle(t *testing.T) {
	blocks := []int64{3, 4, 3}
	tests := []struct {
		text   string
		want   Order
		blocks bool
	}{
		{"", Sequential(10), false},
		{"none", Sequential(10), false},
		{"global", NewGlobal(10, 7, 8), false},
		{"block:2", block(t, 2, 7, 8, blocks...), true},
		{"block:2:3", lanes(t, block(t, 2, 7, 8, blocks...), 3), true},
	}
	for _, tt := range tests {
		s, err := ParseShuffle(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		o, err := s.Order(10, blocks, 7, 8)
		if err != nil || fmt.Sprint(take(o, 10)) != fmt.Sprint(take(tt.want, 10)) || s.NeedsBlocks() != tt.blocks {
			t.Errorf("%q: got %v, %v, blocks %v, want %v", tt.text, take(o, 10), err, s.NeedsBlocks(), take(tt.want, 10))
		}
		if again, err := ParseShuffle(s.String()); again != s || err != nil {
			t.Errorf("%q: parsed again from %q: %v, %v", tt.text, s, again, err)
		}
	}
	for _, text := range []string{"random", "global:3", "block", "block:", "block:0", "block:-1", "block:x", "none:", ":", "block:1:0", "block:1:2:3", "block:99999999999"} {
		if _, err := ParseShuffle(text); !errors.Is(err, ErrOption) {
			t.Errorf("%q: got %v, want ErrOption", text, err)
		}
	}
	s, _ := ParseShuffle("block:2")
	if _, err := s.Order(11, blocks, 0, 0); !errors.Is(err, ErrOption) {
		t.Errorf("blocks of fewer records than the dataset: got %v, want ErrOption", err)
	}
}

func TestState(t *testing.T) {
	d := dataset(t, 4, 6)
	global, _ := ParseShuffle("global")
	s := State{Dataset: d.Fingerprint(nil), Shuffle: global.String(), Seed: 1<<64 - 1, Epoch: 3, Cursor: 10}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(text, &back); err != nil || back != s {
		t.Errorf("through %s: got %+v, %v, want %+v", text, back, err, s)
	}
	if err := s.Check(d.Fingerprint(nil), global, d.Len()); err != nil {
		t.Errorf("its own dataset: %v", err)
	}
	other := dataset(t, 6, 4)
	for name, err := range map[string]error{
		"another dataset": s.Check(other.Fingerprint(nil), global, other.Len()),
		"another order":   s.Check(d.Fingerprint(nil), Shuffle{}, d.Len()),
		"beyond the end":  s.Check(d.Fingerprint(nil), global, 9),
	} {
		if !errors.Is(err, ErrCursor) {
			t.Errorf("%s: got %v, want ErrCursor", name, err)
		}
	}
}

// TestWalksEndAlike: whichever trainer's cursor is kept at the end of an epoch, it is the same, and
// before the end the one of the same step is.
func TestWalksEndAlike(t *testing.T) {
	for e := Exact; e <= Pad; e++ {
		for count := 1; count <= 7; count++ {
			for cursor := int64(0); cursor <= 23; cursor++ {
				rest := 23 - cursor
				want := int64(23)
				if e == Drop {
					want -= rest % int64(count)
				}
				for id := range count {
					w, err := NewWalk(Sequential(23), cursor, Trainer{ID: id, Count: count}, e)
					if err != nil {
						t.Fatal(err)
					}
					for step := int64(0); ; step++ {
						if _, ok := w.Next(); !ok {
							break
						}
						if got, want := w.Cursor(), min(23, cursor+(step+1)*int64(count)); got != want {
							t.Errorf("%v from %d, trainer %d of %d: cursor %d behind step %d, want %d", e, cursor, id, count, got, step, want)
						}
					}
					if got := w.Cursor(); got != want {
						t.Errorf("%v from %d, trainer %d of %d: cursor %d at the end, want %d", e, cursor, id, count, got, want)
					}
				}
			}
		}
	}
}
