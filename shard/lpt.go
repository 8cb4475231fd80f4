package shard

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
)

// Weight is the quantity that LPT balances.
type Weight uint8

// The weights.
const (
	ByRecords Weight = iota
	ByBytes
)

func (w Weight) of(f File) int64 {
	if w == ByBytes {
		return f.Bytes
	}
	return f.Records
}

// LPT assigns the heaviest file first, each to the trainer with the least load so far. The largest
// load is at most 4/3 - 1/(3*trainers) of the optimum. Equal weights go in lexicographic order,
// equal loads to the trainer with fewer files and then to the one with the lower number. The error
// is ErrTrainer, ErrIdle, ErrFile, ErrDuplicate or ErrOption.
func LPT(files []File, trainers int, w Weight) (Assignment, error) {
	if w > ByBytes {
		return nil, fmt.Errorf("%w: unknown weight %d", ErrOption, w)
	}
	files, a, err := prepared(files, trainers)
	if err != nil {
		return nil, err
	}
	heaviest := make([]int, len(files))
	for i := range heaviest {
		heaviest[i] = i
	}
	slices.SortStableFunc(heaviest, func(i, j int) int { return cmp.Compare(w.of(files[j]), w.of(files[i])) })

	least := make(loadHeap, trainers)
	for i := range least {
		least[i].trainer = i
	}
	owner := make([]int, len(files))
	for _, i := range heaviest {
		owner[i] = least[0].trainer
		least[0].weight += w.of(files[i])
		least[0].files++
		heap.Fix(&least, 0)
	}
	for i, f := range files {
		a[owner[i]] = append(a[owner[i]], f)
	}
	return a, nil
}

// load is the load of one trainer so far.
type load struct {
	weight  int64
	files   int
	trainer int
}

// loadHeap has the smallest load first. Comparing the numbers of files for equal loads keeps files
// without weight from all going to one trainer.
type loadHeap []load

func (h loadHeap) Len() int { return len(h) }

func (h loadHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].weight, h[j].weight),
		cmp.Compare(h[i].files, h[j].files), cmp.Compare(h[i].trainer, h[j].trainer)) < 0
}

func (h loadHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push and Pop complete heap.Interface; the number of trainers never changes.
func (h *loadHeap) Push(x any) { *h = append(*h, x.(load)) }

func (h *loadHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
