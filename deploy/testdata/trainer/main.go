// Command trainer reads a dataset, as a training does, and writes an output: trainer DATA HOME.
//
// It reads all records once and prints their number. When the file HOME/go appears it measures more epochs, in turn with
// a copy on the local disk, writes HOME/output, and prints its measurements as JSON. It ends when HOME/end appears.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/recordio"
)

// result is what the trainer found.
type result struct {
	Records, Bytes       int64
	First, Mount, Native time.Duration // of an epoch: the first, and the fastest of later ones
	MountCPU, NativeCPU  time.Duration // processor time of the trainer for a later epoch, at least
}

func main() {
	if err := train(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "trainer:", err)
		os.Exit(1)
	}
}

func train(data, home string) error {
	shards, err := filepath.Glob(filepath.Join(data, "*-of-*"))
	if err != nil {
		return err
	}
	var r result
	start := time.Now()
	for _, name := range shards {
		if err := r.records(name); err != nil {
			return err
		}
	}
	r.First = time.Since(start)
	fmt.Printf("first epoch: %d records, %d bytes, %v\n", r.Records, r.Bytes, r.First)
	await(filepath.Join(home, "go"))
	local, err := os.MkdirTemp("", "copy")
	if err != nil {
		return err
	}
	var copies []string
	for _, name := range shards {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		copies = append(copies, filepath.Join(local, filepath.Base(name)))
		if err := os.WriteFile(copies[len(copies)-1], content, 0o600); err != nil {
			return err
		}
	}
	if err := r.epochs(shards, copies); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	output := filepath.Join(home, "output")
	if err := os.WriteFile(output+".tmp", text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(output+".tmp", output); err != nil {
		return err
	}
	fmt.Printf("%s\n", text)
	await(filepath.Join(home, "end"))
	return nil
}

// records counts the records of a shard.
func (r *result) records(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s := recordio.NewScanner(f, recordio.ScanOptions{Path: name})
	defer s.Close()
	for s.Scan() {
		r.Records++
		r.Bytes += int64(len(s.Bytes()))
	}
	return s.Err()
}

// epochs reads both sets of files in turn, and measures the least epoch of each: other work on the machine slows the
// others down.
func (r *result) epochs(mount, native []string) error {
	r.Mount, r.Native, r.MountCPU, r.NativeCPU = time.Hour, time.Hour, time.Hour, time.Hour
	for range 20 {
		for _, s := range []struct {
			names     []string
			wall, cpu *time.Duration
		}{{mount, &r.Mount, &r.MountCPU}, {native, &r.Native, &r.NativeCPU}} {
			start, startCPU := time.Now(), cpu()
			for _, name := range s.names {
				if err := read(name); err != nil {
					return err
				}
			}
			*s.wall, *s.cpu = min(*s.wall, time.Since(start)), min(*s.cpu, cpu()-startCPU)
		}
	}
	return nil
}

// cpu returns the processor time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var buffer = make([]byte, 128<<10)

func read(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := f.Read(buffer); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// await waits until a file exists.
func await(name string) {
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
