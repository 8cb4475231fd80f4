package convert

import "strconv"

// makeDType implements dtype("f4", align, copy). BUILD adds the byte order, and the fields of a
// structured dtype.
func (u *unpickler) makeDType(args []any) (any, error) {
	if len(args) == 0 {
		return nil, u.badArgs("numpy.dtype")
	}
	name, ok := textOf(args[0])
	if !ok {
		return nil, u.badArgs("numpy.dtype")
	}
	typ, err := parseNPYScalar(name)
	if err != nil {
		return nil, u.at(err)
	}
	return &pickleDType{typ: typ}, nil
}

// at adds the offset of the event to an error.
func (u *unpickler) at(err error) error {
	f, ok := err.(*fault)
	if !ok {
		return err
	}
	return faultf(f.kind, "offset %d: %s", u.e.offset, f.text)
}

// makeArray implements _reconstruct(ndarray, (0,), b"b"): an array that BUILD fills.
func (u *unpickler) makeArray(args []any) (any, error) {
	if len(args) == 3 {
		if class, ok := args[0].(*callable); ok && class.name == "numpy.ndarray" {
			return &pickleArray{}, nil
		}
	}
	return nil, u.badArgs("numpy._reconstruct")
}

// makeScalar implements scalar(dtype, bytes).
func (u *unpickler) makeScalar(args []any) (any, error) {
	if len(args) == 2 {
		dtype, ok := args[0].(*pickleDType)
		data, ok2 := args[1].(*pickleText)
		if ok && ok2 {
			return &pickleArray{typ: dtype.typ, data: data}, nil
		}
	}
	return nil, u.badArgs("numpy.scalar")
}

// makeBuffer implements _frombuffer(bytes, dtype, shape, order).
func (u *unpickler) makeBuffer(args []any) (any, error) {
	if len(args) != 4 {
		return nil, u.badArgs("numpy._frombuffer")
	}
	data, ok := args[0].(*pickleText)
	dtype, ok2 := args[1].(*pickleDType)
	shape, ok3 := shapeOf(args[2])
	fortran := isText(args[3], "F")
	if !ok || !ok2 || !ok3 || !fortran && !isText(args[3], "C") {
		return nil, u.badArgs("numpy._frombuffer")
	}
	return &pickleArray{typ: dtype.typ, shape: shape, fortran: fortran, data: data}, nil
}

// shapeOf returns the tuple v as a shape.
func shapeOf(v any) ([]int64, bool) {
	items, ok := v.(pickleTuple)
	if !ok {
		return nil, false
	}
	shape, err := literalShape([]any(items))
	return shape, err == nil
}

// build implements BUILD, which sets the state of an object.
func (u *unpickler) build() error {
	values, err := u.pop(1)
	if err != nil {
		return err
	}
	state, ok := values[0].(pickleTuple)
	if !ok {
		return u.wrong("with a state that is not a tuple")
	}
	into, err := u.top()
	if err != nil {
		return err
	}
	switch to := into.(type) {
	case *pickleArray:
		return u.buildArray(to, state)
	case *pickleDType:
		return u.buildDType(to, state)
	}
	return u.wrong("on a value that has no state")
}

// buildArray takes the state (version, shape, dtype, is Fortran order, bytes).
func (u *unpickler) buildArray(a *pickleArray, state pickleTuple) error {
	if len(state) != 5 {
		return u.badArgs("numpy.ndarray")
	}
	shape, ok := shapeOf(state[1])
	dtype, ok2 := state[2].(*pickleDType)
	fortran, ok3 := truth(state[3])
	data, ok4 := state[4].(*pickleText)
	if !ok || !ok2 || !ok3 || !ok4 {
		return u.badArgs("numpy.ndarray")
	}
	*a = pickleArray{typ: dtype.typ, shape: shape, fortran: fortran, data: data}
	return nil
}

// truth returns a boolean, which old protocols write as a number.
func truth(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case int64:
		return v != 0, true
	}
	return false, false
}

// buildDType takes the state (version, order, subdtype, names, fields, size, ...).
func (u *unpickler) buildDType(d *pickleDType, state pickleTuple) error {
	if len(state) < 8 {
		return u.badArgs("numpy.dtype")
	}
	if sub, ok := state[2].(pickleTuple); ok {
		return u.buildSubArray(d, sub)
	}
	if names, ok := state[3].(pickleTuple); ok {
		return u.buildFields(d, names, state[4], state[5])
	}
	d.typ = d.typ.ordered(isText(state[1], ">"))
	if len(state) > 8 {
		d.typ.unit = pickleUnit(state[8])
	}
	return nil
}

// pickleUnit converts ({}, (unit, count, 1, 1)), the state of a date's dtype, to "[25s]"; "" if it
// names no unit.
func pickleUnit(v any) string {
	meta, ok := v.(pickleTuple)
	if !ok || len(meta) != 2 {
		return ""
	}
	parts, ok := meta[1].(pickleTuple)
	if !ok || len(parts) < 2 {
		return ""
	}
	name, _ := textOf(parts[0])
	count, _ := parts[1].(int64)
	unit := "[" + name + "]"
	if count > 1 {
		unit = "[" + strconv.FormatInt(count, 10) + name + "]"
	}
	if !isUnit("M8", unit) {
		return ""
	}
	return unit
}

// buildSubArray takes (dtype, shape): elements that are arrays themselves.
func (u *unpickler) buildSubArray(d *pickleDType, sub pickleTuple) error {
	if len(sub) == 2 {
		base, ok := sub[0].(*pickleDType)
		shape, ok2 := shapeOf(sub[1])
		if ok && ok2 && len(base.shape) == 0 {
			d.typ, d.shape = base.typ, shape
			return nil
		}
	}
	return u.badArgs("numpy.dtype")
}

// buildFields takes the names of the fields in order, and a dict of (dtype, offset) by name. As in
// files, the fields of a dtype must not overlap.
func (u *unpickler) buildFields(d *pickleDType, names pickleTuple, fields, size any) error {
	dict, ok := fields.(*pickleDict)
	total, ok2 := size.(int64)
	if !ok || !ok2 || total < 0 || total > maxElement || len(dict.keys) < len(names) {
		return u.badArgs("numpy.dtype")
	}
	byName := map[string]any{}
	for i, key := range dict.keys {
		if name, ok := textOf(key); ok {
			byName[name] = dict.values[i]
		}
	}
	typ := npyType{size: int(total)}
	end := 0
	for _, n := range names {
		name, ok := textOf(n)
		f, ok2 := pickleField(name, byName[name])
		if !ok || !ok2 || f.offset < end || f.size > typ.size-f.offset || f.size == 0 {
			return u.badArgs("numpy.dtype")
		}
		end = f.offset + f.size
		typ.fields = append(typ.fields, f)
		delete(byName, name)
	}
	d.typ = typ
	return nil
}

// pickleField reads (dtype, offset) or (dtype, offset, title).
func pickleField(name string, v any) (npyField, bool) {
	parts, ok := v.(pickleTuple)
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return npyField{}, false
	}
	dtype, ok := parts[0].(*pickleDType)
	offset, ok2 := parts[1].(int64)
	if !ok || !ok2 || offset < 0 || offset > maxElement {
		return npyField{}, false
	}
	size, err := arraySize(dtype.typ, dtype.shape, maxElement)
	return npyField{name: name, offset: int(offset), shape: dtype.shape, size: size, typ: dtype.typ}, err == nil
}
