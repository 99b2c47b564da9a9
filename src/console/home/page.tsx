/** The start page: is it well, what needs me, what was denied. */
import { PageHead } from '../parts/page-head.tsx';

export const Home = () => <PageHead title="Home" />;
