package split

// tally builds the plan of a stream of records.
type tally struct {
	cutter
	plan Plan
}

// add places a record of size bytes and returns its file.
func (t *tally) add(size int64) int {
	record := t.seen
	i := t.place(size)
	if i == len(t.plan.Files) {
		t.open(record)
	}
	t.plan.Files[i].Records++
	t.plan.Files[i].Bytes += size
	return i
}

// open adds the file that begins with the given record.
func (t *tally) open(record int64) {
	step := int64(1)
	if t.rule.kind == roundRobin {
		step = t.rule.n
	}
	t.plan.Files = append(t.plan.Files, File{First: record, Step: step})
}

// trailing reports whether the set still lacks its empty last file.
func (t *tally) trailing() bool { return t.rule.trailing(t.seen, len(t.plan.Files)) }

// counted returns ErrCount if the number of records differs from the rule's.
func (t *tally) counted() error {
	if t.rule.known && t.seen != t.rule.total {
		return wrongCount(t.rule.total, t.seen)
	}
	return t.rule.enough(t.seen)
}

// finish returns the plan with names after all records.
func (t *tally) finish(p Pattern) (Plan, error) {
	if err := t.counted(); err != nil {
		return Plan{}, err
	}
	if t.trailing() {
		t.open(t.seen)
	}
	return t.plan.named(p)
}
