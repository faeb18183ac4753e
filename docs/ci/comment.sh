#!/bin/sh
# Writes a report of `runtime-compiler diff --format markdown` into one comment of a pull request of GitHub, or of a
# merge request of GitLab, which later runs update. A comment by another account stays, even if it looks like this one.
# Usage: comment.sh github|gitlab OWNER/NAME NUMBER REPORT
#
# github  needs gh, and GH_TOKEN; GH_HOST for an own server
# gitlab  needs curl and jq, and GITLAB_TOKEN, an access token with the scope api; CI_API_V4_URL for an own server
set -eu
forge=$1 repository=$2 number=$3 report=$4
marker='<!-- lockstep-review -->'
head -n 1 "$report" | grep -qxF -- "$marker" || {
	echo "error: $report is not a report in Markdown" >&2
	exit 1
}

case $forge in
github)
	me=$(gh api graphql -f query='{viewer{databaseId}}' --jq .data.viewer.databaseId)
	id=$(gh api --paginate "repos/$repository/issues/$number/comments" \
		--jq ".[] | select(.user.id == $me and (.body | startswith(\"$marker\"))) | .id" | head -n 1)
	if [ -n "$id" ]; then
		gh api --silent --method PATCH "repos/$repository/issues/comments/$id" --field "body=@$report"
	else
		gh api --silent "repos/$repository/issues/$number/comments" --field "body=@$report"
	fi
	;;
gitlab)
	api=${CI_API_V4_URL:-https://gitlab.com/api/v4}
	notes=projects/$(printf %s "$repository" | sed 's|/|%2F|g')/merge_requests/$number/notes
	# The token is in no argument, where other processes could read it.
	ask() {
		path=$1
		shift
		printf 'header = "PRIVATE-TOKEN: %s"\n' "$GITLAB_TOKEN" | curl -fsS --retry 4 -K - "$@" "$api/$path"
	}
	me=$(ask user | jq .id)
	id= page=1
	while [ -z "$id" ]; do
		listed=$(ask "$notes?per_page=100&page=$page")
		[ "$listed" != '[]' ] || break
		id=$(printf %s "$listed" | jq --arg marker "$marker" --argjson me "$me" \
			'[.[] | select(.author.id == $me and (.body | startswith($marker)))][0].id // empty')
		page=$((page + 1))
	done
	if [ -n "$id" ]; then
		ask "$notes/$id" -o /dev/null -X PUT --data-urlencode "body@$report"
	else
		ask "$notes" -o /dev/null --data-urlencode "body@$report"
	fi
	;;
*)
	echo "error: unknown forge $forge: allowed are github, gitlab" >&2
	exit 1
	;;
esac
echo "$repository #$number: the comment is up to date"
