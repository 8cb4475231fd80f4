// Command bench-data times the record library and the conversion, beside
// PaddlePaddle/recordio where it is built in (see bench-data.sh), and prints tables in
// Markdown. Every measurement is a process of its own, so that none inherits the
// memory of another, and all who do the same take turns.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
)

// settings are the flags.
type settings struct {
	runs   int            // processes of each row
	passes int            // counted ones in each process, after one that is not
	only   *regexp.Regexp // names of the rows to run
	size   int64          // MiB of the files whose conversion is watched for memory
	ctl    string         // the paddlectl that converts them
}

func main() {
	var s settings
	var only, job, dir string
	var by int
	flag.IntVar(&s.runs, "runs", 5, "processes of each row, in turn")
	flag.IntVar(&s.passes, "passes", 3, "counted passes of each process, after one that is not")
	flag.StringVar(&only, "only", "", "the rows whose name matches this regular expression")
	flag.Int64Var(&s.size, "size", 2048, "MiB of a file to convert; 0 leaves the rows of memory out")
	flag.StringVar(&s.ctl, "paddlectl", "bin/paddlectl", "the program that converts it")
	flag.StringVar(&job, "job", "", "used by the program itself: the row to measure here")
	flag.IntVar(&by, "by", 0, "used by the program itself: by whom it is done")
	flag.StringVar(&dir, "dir", "", "used by the program itself: where the files are")
	flag.Parse()

	var err error
	if s.only, err = regexp.Compile(only); err == nil {
		switch job {
		case "":
			err = compare(s)
		case preparation:
			err = prepare(dir)
		default:
			err = measure(job, by, dir, s.passes)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-data:", err)
		os.Exit(1)
	}
}

// compare runs all rows and prints the tables.
func compare(s settings) error {
	dir, err := os.MkdirTemp("", "bench-data")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := child(preparation, 0, dir, 0); err != nil {
		return err
	}
	head()
	if err := tables(s, dir); err != nil {
		return err
	}
	return memoryTable(s, dir)
}

// preparation is the job that writes the files. It is a process of its own, too: a
// program that is started counts the memory of who started it as its own.
const preparation = "prepare"

// fastDir is a disk that is memory, where there is one. What is written goes there, so
// that no disk is measured. What is read does not: it comes out of the cache of a disk, as
// where training reads a file more than once, and a disk in memory may give it away in
// smaller pages, at half the speed.
func fastDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}
