import { linkTo } from '../browser/router.ts';
import { Tabs } from '../parts/tabs.tsx';

const titles = { reports: 'Reports', schedules: 'Schedules', deliveries: 'Deliveries' } as const;

/** The lists about reports. */
export const ReportTabs = ({ current }: { readonly current: keyof typeof titles }) => (
  <Tabs
    label="Lists"
    tabs={Object.entries(titles).map(([name, title]) => ({
      title,
      address: linkTo(name === 'reports' ? ['reports'] : ['reports', name]),
      isCurrent: name === current,
    }))}
  />
);
