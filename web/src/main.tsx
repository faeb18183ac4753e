import '@patternfly/react-core/dist/styles/base.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { lazy, StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { createBrowserRouter, Navigate, RouterProvider } from 'react-router';
import { JobsPage } from './jobs/JobsPage';
import { Frame } from './parts/Frame';
import { Empty, Loading } from './parts/parts';
import { applyTheme } from './parts/theme';
import './style.css';

const JobPage = lazy(() => import('./job/JobPage').then((m) => ({ default: m.JobPage })));
const CreatePage = lazy(() => import('./create/CreatePage').then((m) => ({ default: m.CreatePage })));
const ComparePage = lazy(() => import('./compare/ComparePage').then((m) => ({ default: m.ComparePage })));
const ClusterPage = lazy(() => import('./cluster/ClusterPage').then((m) => ({ default: m.ClusterPage })));
const RuntimesPage = lazy(() => import('./runtimes/RuntimesPage').then((m) => ({ default: m.RuntimesPage })));
const RuntimePage = lazy(() => import('./runtimes/RuntimePage').then((m) => ({ default: m.RuntimePage })));
const NewRuntimePage = lazy(() => import('./runtimes/NewRuntimePage').then((m) => ({ default: m.NewRuntimePage })));

applyTheme();
const router = createBrowserRouter([{
  element: <Frame />,
  children: [
    { path: '/', element: <Navigate to="/jobs" replace /> },
    { path: '/jobs', element: <JobsPage /> },
    {
      path: '/jobs/:namespace/:name/:tab?',
      element: <Suspense fallback={<Loading what="the job" />}><JobPage /></Suspense>,
    },
    { path: '/create', element: <Suspense fallback={<Loading what="the form" />}><CreatePage /></Suspense> },
    { path: '/compare', element: <Suspense fallback={<Loading what="the runs" />}><ComparePage /></Suspense> },
    { path: '/cluster', element: <Suspense fallback={<Loading what="the cluster" />}><ClusterPage /></Suspense> },
    { path: '/runtimes', element: <Suspense fallback={<Loading what="the runtimes" />}><RuntimesPage /></Suspense> },
    {
      path: '/runtimes/:name',
      element: <Suspense fallback={<Loading what="the runtime" />}><RuntimePage /></Suspense>,
    },
    { path: '/new-runtime', element: <Suspense fallback={<Loading what="the form" />}><NewRuntimePage /></Suspense> },
    { path: '*', element: <Empty page title="There is no such page">Use the link Jobs above.</Empty> },
  ],
}]);
const queries = new QueryClient({ defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false } } });
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}><RouterProvider router={router} /></QueryClientProvider>
    </StrictMode>,
  );
}
