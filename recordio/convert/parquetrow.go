package convert

import "unicode/utf8"

// parquetRow assembles one row from the levels and values of all columns, as in the Dremel paper:
// the repetition level of an entry tells which list continues, its definition level how many levels
// are present.
type parquetRow struct {
	enc  Encoder
	room int   // number of entries still allowed
	bad  error // the first value that a record cannot represent
}

// node encodes n, which has an entry in each of its columns.
func (r *parquetRow) node(n *parquetNode) error {
	_, def, ok, err := n.first.peek()
	if err != nil || !ok {
		return n.first.inconsistent(err)
	}
	if n.optional && def < n.def {
		r.enc.Nil()
		return r.pass(n)
	}
	switch n.kind {
	case parquetStruct:
		return r.structure(n)
	case parquetList, parquetMap:
		return r.list(n, def)
	}
	return r.value(n.leaf)
}

// pass skips one entry of each column below n.
func (r *parquetRow) pass(n *parquetNode) error {
	for _, leaf := range n.leaves {
		if _, err := r.take(leaf); err != nil {
			return err
		}
	}
	return nil
}

// take consumes the next entry of a column.
func (r *parquetRow) take(leaf *parquetLeaf) (value int, err error) {
	if r.room--; r.room < 0 {
		return 0, faultf(ErrLimit, "a row with more values than the limit for a record has bytes")
	}
	if _, _, ok, err := leaf.peek(); err != nil || !ok {
		return 0, leaf.inconsistent(err)
	}
	return leaf.next(), nil
}

func (r *parquetRow) structure(n *parquetNode) error {
	r.enc.Map(len(n.children))
	if err := r.fields(n); err != nil {
		return err
	}
	r.enc.End()
	return nil
}

// record encodes a whole row: the fields of the root, and the columns from directories.
func (r *parquetRow) record(root *parquetNode, more []partition) error {
	r.enc.Map(len(root.children) + len(more))
	if err := r.fields(root); err != nil {
		return err
	}
	for _, p := range more {
		p.encode(r.enc)
	}
	r.enc.End()
	return nil
}

func (r *parquetRow) fields(n *parquetNode) error {
	for _, child := range n.children {
		r.enc.Key(child.name)
		if err := r.node(child); err != nil {
			return err
		}
	}
	return nil
}

// list encodes the items of a list or map, whose first entry has level def.
func (r *parquetRow) list(n *parquetNode, def int16) error {
	if n.kind == parquetMap {
		r.enc.Map(-1)
	} else {
		r.enc.Array(-1)
	}
	if def < n.full {
		if err := r.pass(n); err != nil {
			return err
		}
		r.enc.End()
		return nil
	}
	for {
		if err := r.item(n); err != nil {
			return err
		}
		rep, _, ok, err := n.first.peek()
		if err != nil {
			return err
		}
		if !ok || rep < n.rep {
			r.enc.End()
			return nil
		}
	}
}

func (r *parquetRow) item(n *parquetNode) error {
	if n.kind == parquetList {
		return r.node(n.children[0])
	}
	if err := r.key(n.children[0].leaf); err != nil {
		return err
	}
	return r.node(n.children[1])
}

// key encodes the key of a pair.
func (r *parquetRow) key(leaf *parquetLeaf) error {
	i, err := r.take(leaf)
	if err != nil {
		return err
	}
	key := leaf.values.key(i)
	if !utf8.ValidString(key) {
		r.fail(leaf, faultf(ErrSyntax, "a key that is not UTF-8: %.40q", key))
		key = ""
	}
	r.enc.Key(key)
	return nil
}

// value encodes a value that is not null. If a record cannot represent it, the row is bad, but is
// still read to its end.
func (r *parquetRow) value(leaf *parquetLeaf) error {
	i, err := r.take(leaf)
	if err != nil {
		return err
	}
	if err := leaf.values.encode(r.enc, i); err != nil {
		r.fail(leaf, err)
		r.enc.Nil()
	}
	return nil
}

func (r *parquetRow) fail(leaf *parquetLeaf, err error) {
	if r.bad == nil {
		r.bad = leaf.failed(err)
	}
}
