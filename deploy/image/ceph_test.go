//go:build ceph

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestLibraries runs a program with libcephfs in the root directory of its image, where it finds no library of this
// machine.
func TestLibraries(t *testing.T) {
	testbed.Long(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root directory")
	}
	program := filepath.Join(t.TempDir(), "pfs-agent")
	if out, err := exec.Command("go", "build", "-tags=ceph", "-ldflags=-X main.version=v7", "-o", program, "../../cmd/pfs-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var b bytes.Buffer
	if err := (image{name: "docker.io/a/b:v1", programs: []string{program}, libraries: true}).write(&b); err != nil {
		t.Fatal(err)
	}
	archive := entries(t, &b)
	var docker []struct{ Layers []string }
	parse(t, archive["manifest.json"], &docker)
	root := t.TempDir()
	for _, layer := range docker[0].Layers {
		zip, err := gzip.NewReader(bytes.NewReader(archive[layer]))
		if err == nil {
			err = unpack(zip, root)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("/bin/pfs-agent", "version")
	c.Dir, c.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "v7") {
		t.Errorf("pfs-agent version: %v\n%s", err, out)
	}
}

// unpack writes an archive to the directory root.
func unpack(r io.Reader, root string) error {
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Join(root, h.Name)
		switch err := os.MkdirAll(filepath.Dir(name), 0o755); {
		case err != nil:
			return err
		case h.Typeflag == tar.TypeDir:
			if err := os.MkdirAll(name, 0o755); err != nil {
				return err
			}
		case h.Typeflag == tar.TypeSymlink:
			if err := os.Symlink(h.Linkname, name); err != nil {
				return err
			}
		default:
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, h.FileInfo().Mode().Perm())
			if err == nil {
				_, err = io.Copy(f, archive)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				return err
			}
		}
	}
}
