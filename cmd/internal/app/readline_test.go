package app

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

func TestReadLine(t *testing.T) {
	tests := []struct {
		in, want, rest string
		code           cliio.Code
	}{
		{"secret\nrest", "secret", "rest", 0},
		{"secret\r\n", "secret", "", 0},
		{"secret", "secret", "", 0},
		{" spaces \n", " spaces ", "", 0},
		{"\n", "", "", 0},
		{"", "", "", cliio.Usage},
		{strings.Repeat("x", 5000), "", "", cliio.Usage},
	}
	for _, tt := range tests {
		r := strings.NewReader(tt.in)
		got, err := ReadLine(r)
		if got != tt.want || cliio.CodeOf(err) != tt.code {
			t.Errorf("readLine(%.20q) = %q, %v; want %q, code %d", tt.in, got, err, tt.want, tt.code)
		}
		if rest := tt.in[len(tt.in)-r.Len():]; err == nil && rest != tt.rest {
			t.Errorf("readLine(%.20q) left %q, want %q", tt.in, rest, tt.rest)
		}
	}
}
