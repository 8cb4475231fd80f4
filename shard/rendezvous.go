package shard

import "hash/fnv"

// Rendezvous assigns each file to the trainer with the highest score for it, where the score is a
// hash of the file's name and the trainer's number. A change of the number of trainers then moves
// few files: from n to n+1 trainers about one file in n+1, so the caches of trainers stay useful. A
// trainer gets at most 1.25 times the mean number of files, rounded up; further files go to the
// next best trainer. The error is ErrTrainer, ErrIdle, ErrFile or ErrDuplicate.
//
// It takes time proportional to files times trainers.
func Rendezvous(files []File, trainers int) (Assignment, error) {
	files, a, err := prepared(files, trainers)
	if err != nil {
		return nil, err
	}
	keys := make([]uint64, len(files))
	owner := make([]int, len(files))
	held := make([]int, trainers)
	most := (5*len(files) + 4*trainers - 1) / (4 * trainers)
	for i, f := range files {
		keys[i] = nameKey(f.Name)
		owner[i] = best(keys[i], held, most)
		held[owner[i]]++
	}
	feedIdle(keys, owner, held)
	for i, f := range files {
		a[owner[i]] = append(a[owner[i]], f)
	}
	return a, nil
}

// nameKey is FNV-1a of the name, mixed.
func nameKey(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash.Hash never fails
	return mix(h.Sum64())
}

func score(key uint64, trainer int) uint64 { return mix(key ^ mix(uint64(trainer)+golden)) }

// best returns the trainer with the highest score for key among those with fewer than most files.
func best(key uint64, held []int, most int) int {
	winner, high := -1, uint64(0)
	for t, n := range held {
		if n >= most {
			continue
		}
		if s := score(key, t); winner < 0 || s > high {
			winner, high = t, s
		}
	}
	return winner
}

// feedIdle gives each trainer without a file the best-scoring file of those whose trainer has
// another one.
func feedIdle(keys []uint64, owner, held []int) {
	for t := range held {
		if held[t] > 0 {
			continue
		}
		winner, high := -1, uint64(0)
		for i, key := range keys {
			if held[owner[i]] < 2 {
				continue
			}
			if s := score(key, t); winner < 0 || s > high {
				winner, high = i, s
			}
		}
		held[owner[winner]]--
		owner[winner], held[t] = t, 1
	}
}
