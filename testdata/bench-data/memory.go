package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// memoryTable converts large files by the program, made of those in from, and prints
// the most memory it had.
func memoryTable(s settings, from string) error {
	if s.size == 0 || !s.only.MatchString("memory") {
		return nil
	}
	dir, err := os.MkdirTemp("", "bench-data")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("\n| paddlectl dataset convert, %d MiB | s, wall | peak resident, MiB |\n|---|---|---|\n", s.size)
	for _, t := range tableKinds {
		file := filepath.Join(dir, t.file)
		if err := large(file, filepath.Join(from, t.file), int64(len(t.header)), s.size<<20); err != nil {
			return err
		}
		if err := watch(s.ctl, t.name, file, filepath.Join(dir, "out")); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// large writes a file of about size bytes: the file from, over again without its
// header.
func large(path, from string, header, size int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	for start := int64(0); size > 0; start = header {
		if _, err := in.Seek(start, io.SeekStart); err != nil {
			return err
		}
		n, err := io.Copy(out, in)
		if err != nil {
			return err
		}
		size -= n
	}
	return out.Close()
}

// watch converts file and prints a line of the table.
func watch(ctl, name, file, out string) error {
	cmd := exec.Command(ctl, "dataset", "convert", "--output-path", out, "--name-prefix", "bench", "--num-shards", "8", file)
	begin := time.Now()
	if messages, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, messages)
	}
	fmt.Printf("| %s | %.1f | %.0f |\n", name, time.Since(begin).Seconds(), resident(cmd)/(1<<20))
	return os.RemoveAll(out)
}

// resident is the most memory that a program had, in bytes.
func resident(cmd *exec.Cmd) float64 {
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return float64(u.Maxrss)
	}
	return float64(u.Maxrss) * 1024
}
