import {
  Masthead, MastheadBrand, MastheadContent, MastheadMain, Page, SkipToContent, ToggleGroup, ToggleGroupItem,
} from '@patternfly/react-core';
import { DesktopIcon } from '@patternfly/react-icons/dist/esm/icons/desktop-icon';
import { MoonIcon } from '@patternfly/react-icons/dist/esm/icons/moon-icon';
import { SunIcon } from '@patternfly/react-icons/dist/esm/icons/sun-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { NavLink, Outlet, useLocation } from 'react-router';
import { get } from '../api/client';
import type { Session } from '../api/types';
import { Catch, Text } from './parts';
import { chooseTheme, readTheme, type Theme } from './theme';

const themes: [Theme, string, typeof SunIcon][] = [
  ['light', 'Light theme', SunIcon], ['system', 'Theme of the system', DesktopIcon], ['dark', 'Dark theme', MoonIcon],
];

export const useSession = () =>
  useQuery({ queryKey: ['session'], queryFn: () => get<Session>('/api/v1/session'), staleTime: Infinity });

// Frame is the part of the page that stays: brand, navigation, identity, theme.
export function Frame() {
  const session = useSession().data;
  const [theme, setTheme] = useState(readTheme);
  const place = useLocation().pathname;
  const masthead = (
    <Masthead className="masthead">
      <MastheadMain>
        <MastheadBrand><NavLink to="/jobs" className="brand"><Mark />Lockstep</NavLink></MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <nav aria-label="Pages" className="pages">
          <NavLink to="/jobs">Jobs</NavLink><NavLink to="/runtimes">Runtimes</NavLink>
          <NavLink to="/cluster">Cluster</NavLink><a href="/docs/">Docs</a>
        </nav>
        <div className="identity">
          {session && (
            <span className="who">
              {session.user && <>{'as '}<strong><Text most={60}>{session.user}</Text></strong></>}
              {session.cluster && <>{' on '}<strong><Text most={60}>{session.cluster}</Text></strong></>}
            </span>
          )}
          <ToggleGroup isCompact aria-label="Theme">
            {themes.map(([name, label, Icon]) => (
              <ToggleGroupItem key={name} aria-label={label} icon={<Icon />} isSelected={theme === name}
                onChange={() => { setTheme(name); chooseTheme(name); }} />
            ))}
          </ToggleGroup>
        </div>
      </MastheadContent>
    </Masthead>
  );
  return (
    <Page masthead={masthead} mainContainerId="main" isContentFilled
      skipToContent={<SkipToContent href="#main">Skip to content</SkipToContent>}>
      <Catch key={place.split('/').slice(0, 4).join('/')}><Outlet /></Catch>
    </Page>
  );
}

// Mark is the sign of Lockstep: ranks that stride together.
function Mark() {
  return (
    <svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" className="mark">
      {[4, 9.5, 15].map((x) => <path key={x} d={`M${x} 4 l5 8 l-5 8`} />)}
    </svg>
  );
}
