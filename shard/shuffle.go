package shard

import (
	"fmt"
	"strconv"
	"strings"
)

// Shuffle selects the order of an epoch: "none", "global", or "block:WINDOW:LANES" with the number
// of blocks shuffled together and the number of lanes, usually the number of trainers. The zero
// Shuffle is "none".
type Shuffle struct {
	global bool
	window int // number of blocks; 0 if not by blocks
	lanes  int
}

// The words of Shuffle.
const (
	noShuffle     = "none"
	globalShuffle = "global"
	blockShuffle  = "block"
)

// ParseShuffle parses the result of String; "" is none, and the default of LANES is 1. The error is
// ErrOption.
func ParseShuffle(text string) (Shuffle, error) {
	words := strings.Split(text, ":")
	switch {
	case text == "", text == noShuffle:
		return Shuffle{}, nil
	case text == globalShuffle:
		return Shuffle{global: true}, nil
	case words[0] == blockShuffle && (len(words) == 2 || len(words) == 3):
		s, ok := parseBlock(words[1:])
		if ok {
			return s, nil
		}
	}
	return Shuffle{}, fmt.Errorf("%w %q: none, global, or block:16:4 for windows of 16 chunks in 4 lanes", ErrOption, text)
}

func parseBlock(numbers []string) (Shuffle, bool) {
	s := Shuffle{lanes: 1}
	for i, field := range []*int{&s.window, &s.lanes}[:len(numbers)] {
		n, err := strconv.ParseUint(numbers[i], 10, 31)
		if err != nil || n == 0 {
			return Shuffle{}, false
		}
		*field = int(n)
	}
	return s, true
}

// String returns the form that ParseShuffle accepts.
func (s Shuffle) String() string {
	switch {
	case s.global:
		return globalShuffle
	case s.window > 0:
		return fmt.Sprintf("%s:%d:%d", blockShuffle, s.window, s.lanes)
	}
	return noShuffle
}

// NeedsBlocks reports whether Order needs the block sizes.
func (s Shuffle) NeedsBlocks() bool { return s.window > 0 }

// Order returns the order of an epoch of the given number of records. blocks are the record counts
// of all blocks of the dataset in order, used only if NeedsBlocks. The error is ErrOption.
func (s Shuffle) Order(records int64, blocks []int64, seed, epoch uint64) (Order, error) {
	switch {
	case s.global:
		return NewGlobal(records, seed, epoch), nil
	case s.window > 0:
		return s.block(records, blocks, seed, epoch)
	}
	return Sequential(records), nil
}

func (s Shuffle) block(records int64, blocks []int64, seed, epoch uint64) (Order, error) {
	b, err := NewBlock(blocks, s.window, seed, epoch)
	if err != nil {
		return nil, err
	}
	if b.Len() != records {
		return nil, fmt.Errorf("%w: the blocks have %d records and the dataset %d: index its files again", ErrOption, b.Len(), records)
	}
	return NewLanes(b, s.lanes)
}
