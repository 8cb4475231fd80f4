package main

import (
	"fmt"
	"runtime"
)

// head says on what the figures are taken.
func head() {
	fmt.Printf("%d processors, %s %s/%s, records of 1 KiB, chunks of 32 MiB. Medians; who does the same takes turns.\n",
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if reference() == nil {
		fmt.Println("PaddlePaddle/recordio is not built in: set RECORDIO_REFERENCE to a clone of it.")
	}
}

func tables(s settings, dir string) error {
	copied, random, converted := jobs()
	for _, t := range []struct {
		title string
		jobs  []job
		line  func(j job, by int, all [][]sample)
	}{
		{"| what | by | CPU s/GB | MB/s, wall | CPU, times less | to reach |\n|---|---|---|---|---|---|", copied, copyLine},
		{"| at random, with an index | by | µs | times less |\n|---|---|---|---|", random, randomLine},
		{"| to msgpack, one worker | MB for a CPU second |\n|---|---|", converted, convertLine},
	} {
		titled := false
		for _, j := range t.jobs {
			if !s.only.MatchString(j.name) {
				continue
			}
			if !titled {
				fmt.Printf("\n%s\n", t.title)
				titled = true
			}
			all, err := turns(s, dir, j)
			if err != nil {
				return err
			}
			for by := range j.by {
				t.line(j, by, all)
			}
		}
	}
	return nil
}

// ratio returns how many times less than the reference a contender takes, or "".
func ratio(by int, all [][]sample, of func(sample) float64) string {
	if reference() == nil || by == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", median(all[0], of)/median(all[by], of))
}

func copyLine(j job, by int, all [][]sample) {
	target := ""
	if r := ratio(by, all, cpuPerGB); r != "" && j.target > 0 {
		target = fmt.Sprint(j.target)
	}
	fmt.Printf("| %s | %s | %.3f | %.0f | %s | %s |\n", j.name, j.by[by].name,
		median(all[by], cpuPerGB), median(all[by], megabytes), ratio(by, all, cpuPerGB), target)
}

func randomLine(j job, by int, all [][]sample) {
	fmt.Printf("| %s | %s | %.0f | %s |\n", j.name, j.by[by].name, median(all[by], micros), ratio(by, all, micros))
}

func convertLine(j job, by int, all [][]sample) {
	fmt.Printf("| %s | %.0f |\n", j.name, median(all[by], perCPU))
}
