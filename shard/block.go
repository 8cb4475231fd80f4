package shard

import (
	"fmt"
	"math"
	"sort"
)

// Block is a random order that stays close to the storage order. The blocks (usually the chunks of
// the files) come in random order; each sequence of window blocks is shuffled together. So a reader
// needs one window at a time and each block only once an epoch, while Global moves to another block
// for almost every record. Larger windows are closer to Global; with all blocks in one window every
// record may come anywhere.
//
// It takes 16 bytes of memory a block, and time logarithmic in their number.
type Block struct {
	starts []int64     // of blocks in the dataset, by number; the last element is the number of all records
	before []int64     // number of records before each block in the order; the last element is that of all records
	blocks permutation // permutation of the blocks
	window int         // number of blocks
	key    uint64      // key of the windows
}

// NewBlock returns the order for blocks with the given numbers of records, in the order of the
// dataset. The error is ErrOption.
func NewBlock(records []int64, window int, seed, epoch uint64) (*Block, error) {
	if window < 1 {
		return nil, fmt.Errorf("%w: a window of %d blocks: at least 1", ErrOption, window)
	}
	n := len(records)
	b := &Block{
		starts: make([]int64, n+1), before: make([]int64, n+1),
		blocks: permute(int64(n), derive(blocksTag, seed, epoch)),
		window: window, key: derive(windowTag, seed, epoch),
	}
	for i, count := range records {
		if count < 0 || count > math.MaxInt64-b.starts[i] {
			return nil, fmt.Errorf("%w: block %d of %d records", ErrOption, i, count)
		}
		b.starts[i+1] = b.starts[i] + count
	}
	for place := range n {
		b.before[place+1] = b.before[place] + records[b.blocks.at(int64(place))]
	}
	return b, nil
}

// Len returns the number of records.
func (b *Block) Len() int64 { return b.starts[len(b.starts)-1] }

// At returns the record at position.
func (b *Block) At(position int64) int64 {
	if outside(b, position) {
		return -1
	}
	shuffled := b.shuffled(position)
	place := b.place(shuffled)
	block := b.blocks.at(int64(place))
	return b.starts[block] + shuffled - b.before[place]
}

// shuffled returns the position before its window was shuffled.
func (b *Block) shuffled(position int64) int64 {
	places := len(b.before) - 1
	w := b.place(position) / b.window
	first := w * b.window
	end := first + min(b.window, places-first)
	p := permute(b.before[end]-b.before[first], derive(b.key, uint64(w)))
	return b.before[first] + p.at(position-b.before[first])
}

// place returns the index of the block, in the order of blocks, that contains a position before
// windows are shuffled. It skips blocks without records.
func (b *Block) place(position int64) int {
	return sort.Search(len(b.before)-1, func(i int) bool { return b.before[i+1] > position })
}
