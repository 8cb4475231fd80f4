package nearest

import "testing"

func TestWord(t *testing.T) {
	candidates := []string{"recursive", "retries", "parallel", "json"}
	tests := []struct{ word, want string }{
		{"recusive", "recursive"},
		{"rec", "recursive"},
		{"jsno", "json"},
		{"paralel", "parallel"},
		{"xyz", ""},
		{"x", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := Word(tt.word, candidates); got != tt.want {
			t.Errorf("Word(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}
