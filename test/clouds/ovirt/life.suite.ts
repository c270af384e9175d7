import { lifeSuite } from '../life/life-suite.ts';
import { openOvirtLife } from './life-cloud.ts';

lifeSuite('a fake oVirt', [openOvirtLife]);
