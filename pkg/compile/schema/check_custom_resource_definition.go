package schema

// customResourceDefinition checks the name of a CustomResourceDefinition, and that objects of one of its versions are stored.
func (c *check) customResourceDefinition() {
	spec := c.root.Get("spec")
	if spec == nil {
		return
	}
	name, wanted := c.root.At("metadata", "name"), spec.StringAt("names", "plural")+"."+spec.StringAt("group")
	if name.StringAt() != "" && name.Text != wanted {
		c.refuse(name, "", "found `%s`, must be spec.names.plural and spec.group, `%s`", name.Text, wanted)
	}
	stored := 0
	versions := spec.Get("versions")
	for i := range children(versions) {
		if isTrue(versions.Children[i].Get("storage")) {
			stored++
		}
	}
	if stored != 1 {
		c.refuse(spec, "versions", "%d versions have `storage: true`, needed is one", stored)
	}
}
