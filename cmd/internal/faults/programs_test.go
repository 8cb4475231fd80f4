package faults

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// programs builds pfsd and paddlectl, once per run, and returns their directory.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "faults-programs-"); err != nil {
		return "", err
	}
	built = dir
	build := exec.Command("go", "build", "-tags="+tags, "-o", dir+"/",
		"github.com/paddlecloud/pfs/cmd/pfsd", "github.com/paddlecloud/pfs/cmd/paddlectl")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

// built is the directory of the programs, empty if nothing was built.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}
