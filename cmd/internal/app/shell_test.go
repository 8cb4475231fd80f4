package app

import "testing"

func TestShellWord(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain-1.2_3/x@y:z,=+%", "plain-1.2_3/x@y:z,=+%"},
		{"", "''"},
		{"a b", "'a b'"},
		{"it's", `'it'\''s'`},
		{"*", "'*'"},
		{"~x", "'~x'"},
	}
	for _, tt := range tests {
		if got := posixWord(tt.in); got != tt.want {
			t.Errorf("posixWord(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
