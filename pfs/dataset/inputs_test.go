package dataset

import (
	"io"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
)

// TestWholeReader checks that a file that became shorter does not pass for a whole one.
func TestWholeReader(t *testing.T) {
	r := &wholeReader{Input: &recordfile.Input{Reader: strings.NewReader("half"), Size: 8}}
	_, err := io.ReadAll(r)
	if err == nil || !strings.Contains(err.Error(), "the file ends at byte 4; it had 8 when it was opened") {
		t.Errorf("got %v", err)
	}
	r = &wholeReader{Input: &recordfile.Input{Reader: strings.NewReader("all of it"), Size: 9}}
	if _, err := io.ReadAll(r); err != nil {
		t.Error(err)
	}
}
