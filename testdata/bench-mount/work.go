//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// The work that is measured, below a directory of any file system.

const step = 128 << 10

// readFile reads a file in steps of 128 KiB.
func readFile(name string) error { return readSized(name, -1) }

func readSized(name string, size int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, step)
	var n int64
	for {
		k, err := f.Read(buf)
		n += int64(k)
		switch {
		case err == io.EOF && size >= 0 && n != size:
			return fmt.Errorf("%s has %d bytes, want %d", name, n, size)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// mapFile reads a file through mmap.
func mapFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	m, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	buf := make([]byte, step)
	for off := 0; off < len(m); off += step {
		copy(buf, m[off:])
	}
	return syscall.Munmap(m)
}

// readRandom reads n pieces of 4 KiB.
func readRandom(name string, n int, seed uint64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 1))
	buf := make([]byte, 4096)
	for range n {
		if _, err := f.ReadAt(buf, r.Int64N(info.Size()/4096)*4096); err != nil {
			return err
		}
	}
	return nil
}

// readFiles reads the files of a directory in its order with several readers.
func readFiles(dir string, readers, want int, size int64) error {
	names, err := list(dir)
	if err == nil && len(names) != want {
		err = fmt.Errorf("%s has %d files, want %d", dir, len(names), want)
	}
	if err != nil {
		return err
	}
	return inParallel(readers, len(names), func(i int) error { return readSized(filepath.Join(dir, names[i]), size) })
}

// inParallel does n things with several goroutines.
func inParallel(workers, n int, do func(i int) error) error {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	errs := make([]error, workers)
	var work sync.WaitGroup
	for k := range workers {
		work.Go(func() {
			for i := range next {
				if errs[k] = do(i); errs[k] != nil {
					return
				}
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// list returns the names in a directory, in its order.
func list(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func find(dir string) error { return exec.Command("find", dir).Run() }

// statAll describes n files below dir, which makeNames has made.
func statAll(dir string, n int) error {
	var st syscall.Stat_t
	for i := range n {
		if err := syscall.Lstat(nameOf(dir, i), &st); err != nil {
			return err
		}
	}
	return nil
}

func nameOf(dir string, i int) string { return fmt.Sprintf("%s/d%03d/f%06d", dir, i/1000, i) }

// makeNames makes n empty files in directories of 1,000.
func makeNames(dir string, n int) error {
	for i := range n {
		if i%1000 == 0 {
			if err := os.MkdirAll(filepath.Dir(nameOf(dir, i)), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(nameOf(dir, i), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes size bytes in steps of 128 KiB, and returns when they are synced.
func writeFile(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	for n := int64(0); n < size && err == nil; n += step {
		_, err = f.Write(pattern[n%step:][:step])
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writeFiles makes a directory with n files.
func writeFiles(dir string, writers, n int, size int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return inParallel(writers, n, func(i int) error {
		return os.WriteFile(fmt.Sprintf("%s/f%05d", dir, i), pattern[i%step:][:size], 0o644)
	})
}

// pattern is the content of files.
var pattern = func() []byte {
	p := make([]byte, 8<<20)
	rand.NewChaCha8([32]byte{}).Read(p)
	return p
}()
