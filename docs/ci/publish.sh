#!/bin/sh
# Compiles the commit that is checked out and brings the tree to a branch of a remote, one commit for each change.
# Usage: publish.sh [BRANCH [REMOTE]]; the defaults are rendered and origin.
#
# The branch never goes back to an older commit: if it was made from a descendant of this commit, nothing happens, and
# if from a commit that this one does not contain, the script fails. It also fails if the tip was not made by it, so
# that no change by hand is lost. It needs runtime-compiler, and a clone with the whole history.
#
# LOCKSTEP_GIT_TOKEN  token for a remote over https; LOCKSTEP_GIT_USER if its user is not x-access-token
# LOCKSTEP_ADOPT      full name of a tip to go on from although this script did not make it
# LOCKSTEP_ROOT       folder of the specs in the repository
# LOCKSTEP_PATH       folder of the tree on the branch, as in spec.gitops.path of clusters: dist, or . for the top
# LOCKSTEP_ARTIFACT   registry.example.com/acme/platform:main, to which oras pushes the branch in Flux' form
set -eu
branch=${1:-rendered}
remote=${2:-origin}
root=${LOCKSTEP_ROOT:-.}
path=${LOCKSTEP_PATH:-dist}

fail() {
	echo "error: $1" >&2
	exit 1
}
# The shell that git starts reads the token from the environment, so that it is in no argument.
helper='!f() { echo "username=${LOCKSTEP_GIT_USER:-x-access-token}"; echo "password=$LOCKSTEP_GIT_TOKEN"; }; f'
git() {
	if [ -n "${LOCKSTEP_GIT_TOKEN:-}" ]; then
		set -- -c credential.helper= -c credential.helper="$helper" "$@"
	fi
	command git -c core.hooksPath=/dev/null -c core.autocrlf=false "$@"
}

source=$(git rev-parse --verify HEAD)
if git ls-tree -r HEAD "$root/catalog" "$root/tenants" "$root/overlays" "$root/charts" | grep '^160000 ' >&2; then
	fail "specs are in git submodules, of which a commit has only the name: move them into this repository"
fi

# What is the branch made from?
tip=
published=
same=
if [ -n "$(git ls-remote "$remote" "refs/heads/$branch")" ]; then
	git fetch --quiet "$remote" "refs/heads/$branch"
	tip=$(git rev-parse FETCH_HEAD)
	published=$(git log --format='%(trailers:key=Lockstep-Source,valueonly)' "$tip" | grep -m 1 . || true)
	tree=$(git log -1 --format='%(trailers:key=Lockstep-Tree,valueonly)' "$tip")
	if [ "$tree" = "$(git rev-parse "$tip^{tree}")" ]; then
		same=$tree
	elif [ "${LOCKSTEP_ADOPT:-}" != "$tip" ]; then
		git log -1 --stat "$tip" >&2
		fail "this tip of $branch was not made by a publication: move its change into the specs and take the commit off \
the branch, or go on from it with LOCKSTEP_ADOPT=$tip: its changes of compiled files are replaced, other files stay"
	fi
fi
if [ -n "$published" ] && [ "$published" != "$source" ]; then
	git cat-file -e "$published^{commit}" 2>/dev/null || git fetch --quiet "$remote" "$published" ||
		fail "$branch was made from $published, which this clone does not know: publish from one that does"
	if git merge-base --is-ancestor "$source" "$published"; then
		echo "$branch: nothing to do, it was made from $published, which is newer"
		exit 0
	fi
	git merge-base --is-ancestor "$published" "$source" ||
		fail "$branch was made from $published, which $source does not contain: publish a commit that contains it"
fi

# Compile the commit, not the working tree, into the files of the branch.
work=$(mktemp -d)
trap 'rm -rf "$work"; git worktree prune' EXIT
git worktree add --quiet --detach "$work/source" "$source"
if [ -n "$tip" ]; then
	git worktree add --quiet --detach "$work/branch" "$tip"
else
	git worktree add --quiet --detach --no-checkout "$work/branch" "$source"
fi
runtime-compiler build --root "$work/source/$root" --out "$work/branch/$path" >"$work/log" 2>&1 || {
	cat "$work/log" >&2
	fail "$source does not compile, so there is nothing to publish"
}
git -C "$work/branch" add --all --force
tree=$(git -C "$work/branch" write-tree)
for file in "$work/branch/$path"/*/gitops/platform.yaml; do
	if [ -e "$file" ] && ! grep -Eq "(branch|targetRevision): \"?$branch\"?\$" "$file"; then
		echo "note: ${file#"$work/branch/"} follows another branch than $branch: set spec.gitops.revision of the cluster" >&2
	fi
done

if [ "$tree" = "$same" ]; then
	echo "$branch: nothing to do, $tip has this content"
	commit=$tip
else
	# The same commit gives the same bytes, also of the commit of the branch.
	GIT_AUTHOR_DATE=$(git log -1 --format=%cI "$source")
	export GIT_AUTHOR_DATE GIT_COMMITTER_DATE="$GIT_AUTHOR_DATE"
	export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-runtime-compiler}" GIT_COMMITTER_NAME="${GIT_AUTHOR_NAME:-runtime-compiler}"
	export GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-runtime-compiler@localhost}"
	export GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
	commit=$(git commit-tree "$tree" ${tip:+-p "$tip"} <<END
Publish $(git log -1 --format=%s "$source")

Compiled from $source.
A change by hand here is refused by the next publication: change the specs.

Lockstep-Source: $source
Lockstep-Tree: $tree
END
	)
	# Without force: git refuses it if another pipeline was faster.
	git push --quiet "$remote" "$commit:refs/heads/$branch"
	echo "$branch: published $commit from $source"
fi

if [ -n "${LOCKSTEP_ARTIFACT:-}" ]; then
	git archive --format=tar.gz --output "$work/dist.tar.gz" "$commit" "$path"
	echo '{}' >"$work/config.json"
	case $(git ls-remote "$remote" "refs/heads/$branch") in
	"$commit"*) ;;
	*) fail "another pipeline has moved $branch: the artifact is left to it" ;;
	esac
	(cd "$work" && oras push "$LOCKSTEP_ARTIFACT" dist.tar.gz:application/vnd.cncf.flux.content.v1.tar+gzip \
		--config config.json:application/vnd.cncf.flux.config.v1+json \
		--annotation "org.opencontainers.image.created=$(git -C source log -1 --format=%cI "$commit")" \
		--annotation "org.opencontainers.image.revision=$branch@sha1:$commit" \
		--annotation "org.opencontainers.image.source=$(git -C source remote get-url origin | sed 's|//[^/@]*@|//|')")
fi
