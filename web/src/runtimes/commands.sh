git switch -c runtime-of-page
mv ~/Downloads/of-page.yaml catalog/runtimes/of-page.yaml
runtime-compiler fmt
runtime-compiler check
runtime-compiler diff
git add catalog/runtimes/of-page.yaml
git commit -m "catalog: add of-page"
git push -u origin runtime-of-page
