package python_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/shard"
)

// orderCase is one epoch of one trainer, and what package shard makes of it.
type orderCase struct {
	Blocks      []int64
	Shuffle     string
	Seed, Epoch uint64
	Cursor      int64
	Rank, World int
	Equal       string
	Records     []int64
	Cursors     []int64 // after each step, and at the end
	Fingerprint string
}

// writeOrders writes random cases, of which loader_tests/test_order.py expects the same records.
func writeOrders(t *testing.T, dir string, cases int) {
	t.Helper()
	r := rand.New(rand.NewPCG(17, 1))
	f, err := os.Create(filepath.Join(dir, "orders.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := json.NewEncoder(f)
	for range cases {
		c := randomCase(r)
		if err := c.run(); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if err := out.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
}

func randomCase(r *rand.Rand) *orderCase {
	c := &orderCase{Blocks: make([]int64, r.IntN(20)), Seed: r.Uint64() >> r.IntN(64), Epoch: r.Uint64() >> r.IntN(64)}
	total := int64(0)
	for i := range c.Blocks {
		c.Blocks[i] = r.Int64N(1 + r.Int64N(40))
		total += c.Blocks[i]
	}
	c.Cursor = r.Int64N(total + 1)
	c.World = 1 + r.IntN(9)
	c.Rank = r.IntN(c.World)
	c.Equal = []string{"exact", "drop", "pad"}[r.IntN(3)]
	switch r.IntN(4) {
	case 0:
		c.Shuffle = "none"
	case 1:
		c.Shuffle = "global"
	case 2:
		c.Shuffle = fmt.Sprintf("block:%d", 1+r.IntN(8))
	case 3:
		c.Shuffle = fmt.Sprintf("block:%d:%d", 1+r.IntN(8), 1+r.IntN(6))
	}
	return c
}

func (c *orderCase) run() error {
	shuffle, err := shard.ParseShuffle(c.Shuffle)
	if err != nil {
		return err
	}
	files, total := []shard.File{{Name: "train-é"}, {Name: "train-10"}}, int64(0)
	for _, n := range c.Blocks {
		total += n
	}
	files[0].Records, files[1].Records = total, total*2
	all, err := shard.NewDataset(files)
	if err != nil {
		return err
	}
	c.Fingerprint = all.Fingerprint(c.Blocks)
	order, err := shuffle.Order(total, c.Blocks, c.Seed, c.Epoch)
	if err != nil {
		return err
	}
	equal, err := shard.ParseEqual(c.Equal)
	if err != nil {
		return err
	}
	walk, err := shard.NewWalk(order, c.Cursor, shard.Trainer{ID: c.Rank, Count: c.World}, equal)
	if err != nil {
		return err
	}
	for c.Records = []int64{}; ; {
		record, ok := walk.Next()
		c.Cursors = append(c.Cursors, walk.Cursor())
		if !ok {
			return nil
		}
		c.Records = append(c.Records, record)
	}
}
