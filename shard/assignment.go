package shard

import "fmt"

// Assignment lists the files of each trainer in lexicographic order, trainer 0 first. Every file
// occurs exactly once, and every trainer has at least one.
type Assignment [][]File

// Records returns the number of records of each trainer.
func (a Assignment) Records() []int64 { return a.loads(ByRecords) }

// Bytes returns the bytes of each trainer's files.
func (a Assignment) Bytes() []int64 { return a.loads(ByBytes) }

func (a Assignment) loads(w Weight) []int64 {
	loads := make([]int64, len(a))
	for i, files := range a {
		for _, f := range files {
			loads[i] += w.of(f)
		}
	}
	return loads
}

// prepared checks files against the number of trainers and returns them sorted, with an empty
// assignment.
func prepared(files []File, trainers int) ([]File, Assignment, error) {
	if err := (Trainer{Count: trainers}).Check(); err != nil {
		return nil, nil, err
	}
	if len(files) < trainers {
		return nil, nil, fmt.Errorf("%w: %d files for %d trainers: make more files, or share out records (range)", ErrIdle, len(files), trainers)
	}
	files, err := sorted(files)
	if err != nil {
		return nil, nil, err
	}
	return files, make(Assignment, trainers), nil
}
