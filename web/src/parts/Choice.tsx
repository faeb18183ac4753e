import { Badge, MenuToggle, Select, SelectList, SelectOption } from '@patternfly/react-core';
import { useState } from 'react';
import { shown } from '../words/format';
import { help, type Term } from '../words/help';

interface Props { name: Term; options: [value: string, label: string][]; chosen: string[]; many?: boolean;
  note?: string; choose: (chosen: string[]) => void }

// Choice is a menu with one value, or with many. A note at its end explains missing values.
export function Choice({ name, options, chosen, many, note, choose }: Props) {
  const [open, setOpen] = useState(false);
  const label = options.find(([value]) => value === chosen[0])?.[1] ?? chosen[0];
  return (
    <Select isOpen={open} onOpenChange={setOpen} selected={chosen} isScrollable
      onSelect={(_, value) => {
        const v = String(value);
        if (!many) setOpen(false);
        choose(!many ? [v] : chosen.includes(v) ? chosen.filter((c) => c !== v) : [...chosen, v]);
      }}
      toggle={(ref) => (
        <MenuToggle ref={ref} onClick={() => setOpen(!open)} isExpanded={open} title={help[name]}
          aria-label={many ? undefined : `${name}: ${shown(label, 60)}`}>
          {many || !chosen[0] ? name : shown(label, 60)}
          {many && chosen.length > 0 && <Badge isRead className="count">{chosen.length}</Badge>}
        </MenuToggle>
      )}>
      <SelectList aria-label={name}>
        {options.length === 0 && <SelectOption isDisabled>Nothing to choose</SelectOption>}
        {options.map(([value, text]) => (
          <SelectOption key={value} value={value} hasCheckbox={many} isSelected={chosen.includes(value)}>
            {shown(text, 80)}
          </SelectOption>
        ))}
        {note && <SelectOption isDisabled description={shown(note, 200)}>Not shown</SelectOption>}
      </SelectList>
    </Select>
  );
}
