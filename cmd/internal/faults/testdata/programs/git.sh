# A repository with a history is cloned, checked, repacked, changed and pushed to.
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
files=$([ "$LONG" ] && echo 3000 || echo 25)
git init -q -b main "$SCRATCH/origin"
git -C "$SCRATCH/origin" config gc.auto 0 # it would pack, in the background, the objects that clone copies
for round in 1 2 3; do
  for i in $(seq "$files"); do
    mkdir -p "$SCRATCH/origin/d$((i % 17))"
    echo "$round $i" >>"$SCRATCH/origin/d$((i % 17))/f$i"
  done
  git -C "$SCRATCH/origin" add -A
  git -C "$SCRATCH/origin" commit -q -m "round $round"
done
git clone -q --no-hardlinks "$SCRATCH/origin" clone
git -C clone fsck --full --strict
git -C clone gc -q --aggressive --prune=now
git -C clone mv d1 moved
git -C clone commit -q -m moved
git clone -q --bare clone bare.git
git -C clone push -q "$PWD/bare.git" main:other
git -C bare.git fsck --full
git -C clone checkout -q HEAD~2
git -C clone checkout -q main
[ -z "$(git -C clone status --porcelain)" ] # the index has the times and inodes of all files
diff -r --exclude .git "$SCRATCH/origin/d2" clone/d2
