package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// sample is what one pass took.
type sample struct {
	cpu, wall, size float64 // seconds, seconds, bytes or records
}

// measure does a job in this process and prints a sample a line.
func measure(name string, by int, dir string, passes int) error {
	j, err := find(name)
	if err != nil {
		return err
	}
	pass, size, err := j.begin(dir, j.by[by])
	if err == nil {
		err = pass()
	}
	for i := 0; i < passes && err == nil; i++ {
		cpu, begin := used(), time.Now()
		err = pass()
		fmt.Println((used() - cpu).Seconds(), time.Since(begin).Seconds(), size)
	}
	return err
}

// used is the processor time of this process, of the user and of the system.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// turns runs a job by each of those who do it in turn, and returns the samples of each.
func turns(s settings, dir string, j job) ([][]sample, error) {
	all := make([][]sample, len(j.by))
	for range s.runs {
		for by := range j.by {
			out, err := child(j.name, by, dir, s.passes)
			if err != nil {
				return nil, fmt.Errorf("%s by %s: %w", j.name, j.by[by].name, err)
			}
			for line := range bytes.Lines(out) {
				var x sample
				if _, err := fmt.Sscan(string(line), &x.cpu, &x.wall, &x.size); err != nil {
					return nil, err
				}
				all[by] = append(all[by], x)
			}
		}
	}
	return all, nil
}

// child does a job in a process of its own and returns what that prints.
func child(job string, by int, dir string, passes int) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-job", job, "-by", strconv.Itoa(by), "-dir", dir, "-passes", strconv.Itoa(passes))
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

// median returns the median of what of gives for each sample.
func median(samples []sample, of func(sample) float64) float64 {
	var all []float64
	for _, x := range samples {
		all = append(all, of(x))
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

func cpuPerGB(x sample) float64  { return x.cpu / x.size * 1e9 }
func megabytes(x sample) float64 { return x.size / x.wall / 1e6 }
func perCPU(x sample) float64    { return x.size / x.cpu / 1e6 }
func micros(x sample) float64    { return x.wall / x.size * 1e6 }
