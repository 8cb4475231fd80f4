package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestInstall runs the copy.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("pfs-agent", "install", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(filepath.Join(dir, "pfs-agent"), "version").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if exec.Command("pfs-agent", "install", filepath.Join(dir, "none")).Run() == nil {
		t.Error("a directory that does not exist is accepted")
	}
}
