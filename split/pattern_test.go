package split

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestPatternName(t *testing.T) {
	tests := []struct {
		pattern  string
		of       Of
		i, files int
		want     string
	}{
		{"%05d.pickle", OfCount, 0, 0, "00000.pickle"},
		{"./uci_housing/train-%05d.pickle", OfCount, 12, 0, "./uci_housing/train-00012.pickle"},
		{"part-%03d", OfCount, 999, 0, "part-999"},
		{"x-%05d-of-%05d", OfCount, 9, 10, "x-00009-of-00010"},
		{"x-%05d-of-%05d", OfLast, 9, 10, "x-00009-of-00009"},
		{"x-%02d-of-%04d.recordio", OfCount, 3, 17, "x-03-of-0017.recordio"},
		{"100%%-%02d%%", OfCount, 1, 0, "100%-01%"},
		{"%01d-of-", OfCount, 7, 0, "7-of-"},
		{"%018d", OfCount, 1, 0, "000000000000000001"},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern, tt.of)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tt.pattern, err)
			continue
		}
		if got, err := p.Name(tt.i, tt.files); got != tt.want || err != nil {
			t.Errorf("%q of file %d: got %q, %v; want %q", tt.pattern, tt.i, got, err, tt.want)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	tests := []struct{ pattern, says string }{
		{"", "no number"},
		{"train.pickle", "no number"},
		{"train-%d", "%05d"},
		{"train-%5d", "%05d"},
		{"train-%0d", "%05d"},
		{"train-%00d", "%05d"},
		{"train-%0+5d", "%05d"},
		{"train-%05x", "%05d"},
		{"train-%s-%05d", "%05d"},
		{"train-%", "%05d"},
		{"train-%05d-%05d", "one number too many"},
		{"train-%05d-of-%05d-%05d", "one number too many"},
		{"train-%05d-of-%5d", "one number too many"},
		{"train-%019d", "at most 18"},
		{"train-%099999999999999999999d", "%05d"},
		{"a\n%05d", "character"},
	}
	for _, tt := range tests {
		_, err := ParsePattern(tt.pattern, OfCount)
		if !errors.Is(err, ErrPattern) || !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("ParsePattern(%q): got %v, want ErrPattern that says %q", tt.pattern, err, tt.says)
		}
	}
	if _, err := ParsePattern("%05d", OfLast+1); !errors.Is(err, ErrPattern) {
		t.Errorf("unknown meaning of -of-: got %v, want ErrPattern", err)
	}
	if _, err := (Pattern{}).Name(0, 1); !errors.Is(err, ErrPattern) {
		t.Errorf("name of a zero Pattern: got %v, want ErrPattern", err)
	}
}

func TestPatternDigits(t *testing.T) {
	for _, text := range []string{"%02d", "%05d-of-%02d"} {
		p, err := ParsePattern(text, OfCount)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Name(99, 99); err != nil {
			t.Errorf("%s, file 99: %v", text, err)
		}
		if name, err := p.Name(100, 100); !errors.Is(err, ErrDigits) {
			t.Errorf("%s, file 100: got %q, %v, want ErrDigits", text, name, err)
		}
	}
}

func TestEscape(t *testing.T) {
	const name = "50%/%d-%05d"
	p, err := ParsePattern(Escape(name)+"%02d", OfCount)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := p.Name(1, 0); got != name+"01" {
		t.Errorf("got %q, want %q", got, name+"01")
	}
}

func FuzzParsePattern(f *testing.F) {
	f.Add("train-%05d.pickle")
	f.Add("x-%05d-of-%05d%%")
	f.Add("%")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text, OfCount)
		if err != nil {
			return
		}
		a, errA := p.Name(0, 2)
		b, errB := p.Name(1, 2)
		if errA != nil || errB != nil || a >= b {
			t.Errorf("pattern %q: names %q, %q (%v, %v), want two in order", text, a, b, errA, errB)
		}
	})
}
