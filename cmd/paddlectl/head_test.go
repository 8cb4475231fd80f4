package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// Files are read in pieces of these sizes; the first is small.
const smallPiece, largePiece = 64 << 10, pfs.ChunkSize

// firstLines and lastLines return the output of head and tail for data.
func firstLines(data string, n int) string {
	lines := strings.SplitAfter(data, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

func lastLines(data string, n int) string {
	lines := strings.SplitAfter(data, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

func fromLine(data string, n int) string {
	lines := strings.SplitAfter(data, "\n")
	return strings.Join(lines[min(max(0, n-1), len(lines)):], "")
}

// TestHeadAndTail prints files whose lines end at, before and after the ends of a read, are much
// longer than a read, or empty.
func TestHeadAndTail(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	files := map[string]string{
		"empty":   "",
		"newline": "\n",
		"noend":   "a\nb",
		"blanks":  "\n\n\n\n",
		"few":     "1\n2\n3\n",
		"long":    long + "\n" + long + "\nlast",
		"border":  strings.Repeat("y", smallPiece-1) + "\n" + strings.Repeat("z", smallPiece-1) + "\n",
		"many":    strings.Repeat("12345678901234567890\n", 300_000),
	}
	fsys := newHome(t)
	for name, data := range files {
		pfstest.WriteFile(t, fsys, pfs.Path(home).Join(name), []byte(data))
	}
	check := func(name, want string, args ...string) {
		t.Helper()
		got := run(t, testMain(t, fsys, append(args, home+"/"+name)...))
		if got.code != cliio.Done || got.stdout != want {
			t.Errorf("%v %s: code %d, %d bytes (%.20q), want %d (%.20q): %s", args, name, got.code, len(got.stdout), got.stdout, len(want), want, got.stderr)
		}
	}
	for name, data := range files {
		check(name, firstLines(data, 10), "head")
		check(name, lastLines(data, 10), "tail")
		for _, n := range []int{0, 1, 2, 3, 4, 250_000, 400_000} {
			count := fmt.Sprint(n)
			check(name, firstLines(data, n), "head", "-n", count)
			check(name, lastLines(data, n), "tail", "-n", count)
			check(name, fromLine(data, n), "tail", "-n", "+"+count)
		}
		for _, n := range []int{0, 1, 2, smallPiece, 5 << 20} {
			count := fmt.Sprint(n)
			check(name, data[:min(n, len(data))], "head", "-c", count)
			check(name, data[max(0, len(data)-n):], "tail", "-c", count)
			check(name, data[min(max(0, n-1), len(data)):], "tail", "-c", "+"+count)
		}
	}
}

// countedReads counts the bytes that are read of files.
type countedReads struct {
	pfs.FileSystem
	n atomic.Int64
}

func (c *countedReads) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := c.FileSystem.Open(ctx, name)
	return countedFile{f, c}, err
}

type countedFile struct {
	pfs.File
	c *countedReads
}

func (f countedFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(ctx, p, off)
	f.c.n.Add(int64(n))
	return n, err
}

// TestHeadAndTailReadLittle of a large file.
func TestHeadAndTailReadLittle(t *testing.T) {
	fsys := newHome(t)
	pfstest.WriteFile(t, fsys, home+"/f", bytes.Repeat([]byte("a line of text\n"), 4<<20))
	for _, tt := range []struct {
		args string
		most int64
	}{
		{"head", smallPiece}, {"tail", smallPiece}, {"head -c 100", 100}, {"tail -c 100", 100},
		{"tail -n 1000000", 2*15_000_000 + largePiece}, {"head -n 1000000", 15_000_000 + largePiece},
	} {
		c := &countedReads{FileSystem: fsys}
		got := run(t, testMain(t, c, append(strings.Fields(tt.args), home+"/f")...))
		if n := c.n.Load(); got.code != cliio.Done || got.stdout == "" || n > tt.most {
			t.Errorf("%s: code %d, %d bytes read, want at most %d: %s", tt.args, got.code, n, tt.most, got.stderr)
		}
	}
}

// TestHeaders compares the headers of head and tail with those of coreutils.
func TestHeaders(t *testing.T) {
	fsys := newHome(t)
	pfstest.WriteFile(t, fsys, home+"/a", []byte("1\n2\n"))
	pfstest.WriteFile(t, fsys, home+"/b", []byte("3\n4\n"))
	const both = "==> " + home + "/a <==\n2\n\n==> " + home + "/b <==\n4\n"
	for _, tt := range []struct {
		args, stdout, stderr string
		code                 cliio.Code
	}{
		{"tail -n1 HOME/a HOME/b", both, "", cliio.Done},
		{"tail -n 1 HOME/?", both, "", cliio.Done},
		{"tail -n 1 HOME/a HOME/none HOME/b", both, "no such file", cliio.Partly},
		{"tail -q -n 1 HOME/a HOME/b", "2\n4\n", "", cliio.Done},
		{"head -v -n 1 HOME/a", "==> " + home + "/a <==\n1\n", "", cliio.Done},
		{"head -n 1 HOME/a", "1\n", "", cliio.Done},
		{"head HOME", "", "is a directory", cliio.Exists},
		{"head HOME/none", "", "no such file", cliio.NotFound},
		{"head here", "", "paths of the service begin with /pfs/", cliio.Usage},
		{"head -", "", "head reads files of the service", cliio.Usage},
		{"tail -5 HOME/a", "", "-5: write -n 5", cliio.Usage},
		{"head -n -1 HOME/a", "", "--lines -1: a number from 0 up is needed", cliio.Usage},
		{"head -n 1 -c 1 HOME/a", "", "--lines and --bytes contradict each other", cliio.Usage},
		{"tail -n 1 -c 1 HOME/a", "", "--lines and --bytes contradict each other", cliio.Usage},
		{"tail -n x HOME/a", "", "--lines x: a number from 0 up is needed, or +N", cliio.Usage},
		{"tail -c 1X HOME/a", "", "--bytes 1X: no size: write it as 4096, 10M or 1.5G", cliio.Usage},
	} {
		got := run(t, testMain(t, fsys, strings.Fields(strings.ReplaceAll(tt.args, "HOME", home))...))
		if got.code != tt.code || got.stdout != tt.stdout || !strings.Contains(got.stderr, tt.stderr) || tt.stderr == "" && got.stderr != "" {
			t.Errorf("%s: code %d, %q, %q", tt.args, got.code, got.stdout, got.stderr)
		}
	}
}
