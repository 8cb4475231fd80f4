package webhdfs

import (
	"context"
	"io/fs"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// mkdirs carries out MKDIRS.
func mkdirs(ctx context.Context, c *call) (answer, error) {
	mode, err := c.params.mode(0o755)
	if err != nil {
		return answer{}, err
	}
	err = pfs.MkdirAll(ctx, c.fs(), c.path, fs.FileMode(mode&0o777)&^maskNew)
	if isKind(err, pfs.Exist) {
		err = forbidden(alreadyExists, "Path is not a directory: %s", c.asked)
	}
	return yesNo(true), err
}

// remove carries out DELETE.
func remove(ctx context.Context, c *call) (answer, error) {
	recursive, err := c.params.yes("recursive", false)
	if err != nil {
		return answer{}, err
	}
	do := c.fs().Remove
	if recursive {
		do = func(ctx context.Context, name pfs.Path) error { return pfs.RemoveTree(ctx, c.fs(), name) }
	}
	switch err := do(ctx, c.path); {
	case isKind(err, pfs.NotExist):
		return yesNo(false), nil
	case isKind(err, pfs.NotEmpty):
		return answer{}, forbidden(notEmpty, "`%s is non empty': Directory is not empty", c.asked)
	default:
		return yesNo(true), err
	}
}

// rename carries out RENAME, of which Hadoop has two kinds.
func rename(ctx context.Context, c *call) (answer, error) {
	to, err := c.resolveParam("destination", c.params.text("destination"))
	if err != nil {
		return answer{}, err
	}
	options := strings.ToUpper(c.params.text("renameoptions"))
	if options == "" {
		return c.renameOrNot(ctx, to)
	}
	overwrite := false
	for o := range strings.SplitSeq(options, ",") {
		switch strings.TrimSpace(o) {
		case "OVERWRITE":
			overwrite = true
		case "NONE", "TO_TRASH":
		default:
			return answer{}, badParam("renameoptions", "No enum constant org.apache.hadoop.fs.Options.Rename."+o)
		}
	}
	return answer{}, c.renameStrictly(ctx, to, overwrite)
}

// renameOrNot is the older rename: it moves into a directory that exists, replaces nothing, and answers false if it
// cannot.
func (c *call) renameOrNot(ctx context.Context, to pfs.Path) (answer, error) {
	from, err := c.fs().Stat(ctx, c.path)
	if err != nil {
		return unless(err, pfs.NotExist)
	}
	info, err := linkfs.Stat(ctx, c.fs(), to)
	switch {
	case err == nil && to == c.path:
		return yesNo(!from.IsDir()), nil
	case err == nil && info.IsDir():
		to = to.Join(c.path.Base())
	case err == nil:
		return yesNo(false), nil
	case !isKind(err, pfs.NotExist):
		return answer{}, err
	}
	if err := gateway.RenameNew(ctx, c.fs(), c.path, to); err != nil {
		return unless(err, pfs.NotExist, pfs.Exist, pfs.NotDir, pfs.Invalid)
	}
	return yesNo(true), nil
}

// unless answers false if err is of one of the kinds.
func unless(err error, kinds ...pfs.Kind) (answer, error) {
	for _, k := range kinds {
		if isKind(err, k) {
			return yesNo(false), nil
		}
	}
	return answer{}, err
}

// renameStrictly is the newer rename, which returns the cause of a failure.
func (c *call) renameStrictly(ctx context.Context, to pfs.Path, overwrite bool) error {
	asked := c.params.text("destination")
	from, err := c.fs().Stat(ctx, c.path)
	if isKind(err, pfs.NotExist) {
		return missing("rename source %s is not found.", c.asked)
	}
	if err != nil {
		return err
	}
	if to == c.path {
		return forbidden(alreadyExists, "The source %s and destination %s are the same", c.asked, asked)
	}
	if from.IsDir() && to.Within(c.path) {
		return forbidden(ioException, "Rename destination %s is a directory or file under source %s", asked, c.asked)
	}
	there, err := c.fs().Stat(ctx, to)
	switch {
	case isKind(err, pfs.NotExist):
		if _, err := c.fs().Stat(ctx, to.Parent()); isKind(err, pfs.NotExist) {
			return missing("rename destination parent %s not found.", asked)
		}
		overwrite = false
	case err != nil:
		return err
	case !overwrite:
		return forbidden(alreadyExists, "rename destination %s already exists", asked)
	case from.IsDir() != there.IsDir():
		return forbidden(ioException, "Source %s and destination %s must both be directories or files", c.asked, asked)
	case there.IsDir():
		if err := c.fs().Remove(ctx, to); err != nil {
			if isKind(err, pfs.NotEmpty) {
				err = forbidden(ioException, "rename destination directory is not empty: %s", asked)
			}
			return err
		}
	}
	if overwrite {
		return c.fs().Rename(ctx, c.path, to)
	}
	err = gateway.RenameNew(ctx, c.fs(), c.path, to)
	if isKind(err, pfs.Exist) {
		err = forbidden(alreadyExists, "rename destination %s already exists", asked)
	}
	return err
}

// concat carries out CONCAT.
func concat(ctx context.Context, c *call) (answer, error) {
	var sources []pfs.Path
	for s := range strings.SplitSeq(c.params.text("sources"), ",") {
		if s == "" {
			continue
		}
		name, err := c.resolveParam("sources", s)
		if err != nil {
			return answer{}, err
		}
		sources = append(sources, name)
	}
	if len(sources) == 0 {
		return answer{}, illegal("no sources to concat to %s were given", c.asked)
	}
	return answer{}, pfs.Concat(ctx, c.fs(), c.path, sources)
}

// truncate carries out TRUNCATE.
func truncate(ctx context.Context, c *call) (answer, error) {
	size, err := c.params.long("newlength", 0, -1)
	if err != nil {
		return answer{}, err
	}
	if size < 0 {
		return answer{}, illegal("newlength parameter is not specified")
	}
	info, err := linkfs.Stat(ctx, c.fs(), c.path)
	switch {
	case err != nil:
		return answer{}, err
	case info.IsDir():
		return answer{}, missing("Path is not a file: %s", c.asked)
	case size > info.Size:
		return answer{}, exception{hadoopIllegal, "Cannot truncate to a larger file size. Current size: " + itoa(info.Size) + ", truncate size: " + itoa(size) + ".", 400}
	}
	return yesNo(true), pfs.SetAttr(ctx, c.fs(), c.path, pfs.AttrSize, pfs.Attrs{Size: size})
}
