package hdfsfs

import (
	"errors"
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	n := newNames([]string{"a", "b", "c"})
	failed := errors.New("failed")
	for _, step := range []struct {
		report string
		err    error
		want   []string
	}{
		{"a", failed, []string{"b", "c", "a"}},
		{"b", failed, []string{"c", "a", "b"}},
		{"a", failed, []string{"c", "b", "a"}},
		{"a", nil, []string{"a", "c", "b"}},
	} {
		n.report(step.report, step.err)
		if got := n.order(); !slices.Equal(got, step.want) {
			t.Errorf("after %s: %v the order is %v, want %v", step.report, step.err, got, step.want)
		}
	}
}
