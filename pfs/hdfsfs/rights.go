package hdfsfs

import (
	"context"
	"fmt"
	"path"

	"github.com/paddlecloud/pfs/pfs"
)

// MissingRight returns, after HDFS has returned Permission, the right that the service lacks to
// write into the directory dir, and the command with which an administrator of HDFS grants it.
func (f *FS) MissingRight(ctx context.Context, dir pfs.Path) string {
	user, at := f.service.user, f.at(dir)
	err := f.stage.ensure(ctx)
	switch _, topErr := f.statusAt(ctx, f.stage.top()); {
	case is(err, pfs.Permission) && topErr == nil:
		at = f.stage.top()
		return fmt.Sprintf("the HDFS user %s may not write into %s%s, where uploads are staged; a superuser of HDFS runs: hdfs dfs -chmod %o %s",
			user, at, f.ownerOf(ctx, at), stageMode, at)
	case is(err, pfs.Permission):
		at = path.Dir(f.stage.top())
	case err != nil:
		return ""
	}
	lacks := fmt.Sprintf("the HDFS user %s may not write into %s%s; a superuser of HDFS runs: ", user, at, f.ownerOf(ctx, at))
	if at == "/" {
		return lacks + fmt.Sprintf("hdfs dfs -mkdir /pfs && hdfs dfs -chown %s /pfs, and the URL of the store ends in /pfs", user)
	}
	return lacks + fmt.Sprintf("hdfs dfs -chown %s %s", user, at)
}

// ownerOf returns the owner of a directory in HDFS, or "" if it is not available.
func (f *FS) ownerOf(ctx context.Context, at string) string {
	st, err := f.statusAt(ctx, at)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%s:%s, %v)", st.Owner, st.Group, st.Mode)
}
