package rules_test

import (
	"io/fs"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestSpecialFiles(t *testing.T) {
	for _, mode := range []fs.FileMode{fs.ModeNamedPipe, fs.ModeSocket, fs.ModeDevice, fs.ModeIrregular} {
		pfstest.WantKind(t, rules.Open("rules.Test", "/special", mode), pfs.Unsupported)
	}
}
