package shard

// Mod assigns file i, in lexicographic order, to trainer i mod trainers, like the readers of
// PaddlePaddle, so that both may be used on one dataset. The error is ErrTrainer, ErrIdle, ErrFile
// or ErrDuplicate.
func Mod(files []File, trainers int) (Assignment, error) {
	files, a, err := prepared(files, trainers)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		a[i%trainers] = append(a[i%trainers], f)
	}
	return a, nil
}
