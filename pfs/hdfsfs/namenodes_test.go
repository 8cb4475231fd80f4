package hdfsfs

import (
	"slices"
	"testing"
)

func TestNameNodes(t *testing.T) {
	n := newNameNodes([]string{"a", "b", "c"})
	for _, step := range []struct {
		failed string
		want   []string
	}{
		{"a", []string{"b", "c", "a"}},
		{"b", []string{"c", "a", "b"}},
		{"a", []string{"c", "b", "a"}},
	} {
		n.noteFailed(step.failed)
		if got := n.order(); !slices.Equal(got, step.want) {
			t.Errorf("after %s failed the order is %v, want %v", step.failed, got, step.want)
		}
	}
}
