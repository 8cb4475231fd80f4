package split

import (
	"errors"
	"io/fs"
	"iter"
	"math"
	"reflect"
	"slices"
	"testing"
)

func pattern(t testing.TB, text string, of Of) Pattern {
	t.Helper()
	p, err := ParsePattern(text, of)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// counts returns the records of each file.
func counts(p Plan) []int64 {
	ns := []int64{}
	for _, f := range p.Files {
		ns = append(ns, f.Records)
	}
	return ns
}

func TestPlanCounts(t *testing.T) {
	tests := []struct {
		name  string
		rule  Rule
		total int64
		want  []int64
	}{
		{"records, none", Records(4), 0, []int64{}},
		{"records, rest", Records(4), 10, []int64{4, 4, 2}},
		{"records, exact", Records(4), 8, []int64{4, 4}},
		{"files", Files(4), 10, []int64{3, 3, 2, 2}},
		{"files, one each", Files(3), 3, []int64{1, 1, 1}},
		{"round robin", RoundRobin(4), 10, []int64{3, 3, 2, 2}},
		// From here on as the reference does; see the package's comment.
		{"split 0", PaddleSplit(4), 0, []int64{}},
		{"split 4", PaddleSplit(4), 4, []int64{4}},
		{"split 5", PaddleSplit(4), 5, []int64{5}},
		{"split 9", PaddleSplit(4), 9, []int64{5, 4}},
		{"split 10", PaddleSplit(4), 10, []int64{5, 4, 1}},
		{"split by 1", PaddleSplit(1), 4, []int64{2, 1, 1}},
		{"convert 0", PaddleConvert(4), 0, []int64{0}},
		{"convert 1", PaddleConvert(4), 1, []int64{1}},
		{"convert 4", PaddleConvert(4), 4, []int64{4}},
		{"convert 5", PaddleConvert(4), 5, []int64{5, 0}},
		{"convert 9", PaddleConvert(4), 9, []int64{5, 4, 0}},
		{"convert 10", PaddleConvert(4), 10, []int64{5, 4, 1}},
		{"convert by 1", PaddleConvert(1), 3, []int64{2, 1, 0}},
		{"convert 1 by 1", PaddleConvert(1), 1, []int64{1}},
		{"huge", Records(math.MaxInt64), math.MaxInt64, []int64{math.MaxInt64}},
		{"huge split", PaddleSplit(math.MaxInt64), math.MaxInt64, []int64{math.MaxInt64}},
		{"huge rest", Records(math.MaxInt64 / 2), math.MaxInt64, []int64{math.MaxInt64 / 2, math.MaxInt64 / 2, 1}},
	}
	for _, tt := range tests {
		plan, err := tt.rule.Plan(pattern(t, "%05d", OfCount), tt.total)
		if got := counts(plan); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// referenceSplit is the loop of the reference, line for line: it returns the records of each file.
func referenceSplit(total, lineCount int64, convert bool) []int64 {
	files, held := []int64{}, int64(0)
	for i := range total {
		held++
		if i >= lineCount && i%lineCount == 0 {
			files, held = append(files, held), 0
		}
	}
	if held > 0 || convert {
		files = append(files, held)
	}
	return files
}

func TestPaddleIsTheReference(t *testing.T) {
	p := pattern(t, "%05d", OfCount)
	for total := range int64(60) {
		for n := int64(1); n < 12; n++ {
			split, err := PaddleSplit(n).Plan(p, total)
			if want := referenceSplit(total, n, false); err != nil || !slices.Equal(counts(split), want) {
				t.Errorf("split %d by %d: got %v, %v, want %v", total, n, counts(split), err, want)
			}
			convert, err := PaddleConvert(n).Plan(p, total)
			if want := referenceSplit(total, n, true); err != nil || !slices.Equal(counts(convert), want) {
				t.Errorf("convert %d by %d: got %v, %v, want %v", total, n, counts(convert), err, want)
			}
		}
	}
}

func TestPlanSizes(t *testing.T) {
	tests := []struct {
		name  string
		rule  Rule
		sizes []int64
		want  []int64
	}{
		{"full files", Bytes(10), []int64{5, 5, 5, 5, 1}, []int64{2, 2, 1}},
		{"larger than a file", Bytes(10), []int64{1, 30, 1, 1}, []int64{1, 1, 2}},
		{"larger at first", Bytes(10), []int64{30, 30}, []int64{1, 1}},
		{"empty records", Bytes(1), []int64{0, 0, 1, 0, 0, 1}, []int64{5, 1}},
		{"none", Bytes(1), nil, []int64{}},
		{"sums that overflow", Bytes(math.MaxInt64), []int64{math.MaxInt64, math.MaxInt64, 0}, []int64{1, 2}},
		{"records", Records(2), []int64{1, 1, 1}, []int64{2, 1}},
	}
	for _, tt := range tests {
		plan, err := tt.rule.planSizes(pattern(t, "%05d", OfCount), slices.Values(tt.sizes))
		if got := counts(plan); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestPlanNames(t *testing.T) {
	plan, err := RoundRobin(2).Plan(pattern(t, "x-%05d-of-%05d", OfLast), 5)
	want := Plan{Files: []File{
		{Name: "x-00000-of-00001", First: 0, Step: 2, Records: 3},
		{Name: "x-00001-of-00001", First: 1, Step: 2, Records: 2},
	}}
	if err != nil || !reflect.DeepEqual(plan, want) {
		t.Errorf("got %+v, %v, want %+v", plan, err, want)
	}
	if plan.Records() != 5 {
		t.Errorf("records of the plan: got %d, want 5", plan.Records())
	}
}

func TestPlanRefused(t *testing.T) {
	plan := func(r Rule, total int64) error {
		_, err := r.Plan(pattern(t, "%01d", OfCount), total)
		return err
	}
	sizes := func(r Rule, n int) error {
		_, err := r.planSizes(pattern(t, "%01d", OfCount), slices.Values(make([]int64, n)))
		return err
	}
	tests := []struct {
		name string
		got  error
		want error
	}{
		{"no rule", plan(Rule{}, 1), ErrRule},
		{"0 records", plan(Records(0), 1), ErrRule},
		{"-1 files", plan(Files(-1), 1), ErrRule},
		{"files beyond an int32", plan(Files(math.MaxInt32+1), math.MaxInt64), ErrRule},
		{"less than no records", plan(Records(1), -1), ErrCount},
		{"more files than records", plan(Files(3), 2), ErrCount},
		{"more files than records, dealt", plan(RoundRobin(3), 2), ErrCount},
		{"another count", plan(Records(1).WithCount(2), 3), ErrCount},
		{"bytes without sizes", plan(Bytes(10), 3), ErrNeedsSizes},
		{"files without a count", sizes(Files(2), 3), ErrNeedsCount},
		{"fewer sizes than files", sizes(RoundRobin(4), 3), ErrCount},
		{"fewer sizes than announced", sizes(Files(2).WithCount(4), 3), ErrCount},
		{"too many files", plan(Records(1), 11), ErrDigits},
	}
	for _, tt := range tests {
		if !errors.Is(tt.got, tt.want) || !errors.Is(tt.got, fs.ErrInvalid) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// planSizes computes the plan of records from their sizes in bytes, in order. It works for every
// rule that does not need a count, and sets File.Bytes.
func (r Rule) planSizes(p Pattern, sizes iter.Seq[int64]) (Plan, error) {
	if err := r.check(); err != nil {
		return Plan{}, err
	}
	t := tally{cutter: cutter{rule: r}}
	for size := range sizes {
		t.add(size)
	}
	return t.finish(p)
}
