"""Reading and writing of files."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.files.bodies.bodies import read_flexible_body as read_flexible_body
    from dalembert.files.bodies.bodies import write_flexible_body as write_flexible_body
    from dalembert.files.modal.geometry import Geometry as Geometry
    from dalembert.files.modal.geometry import read_geometry as read_geometry
    from dalembert.files.modal.modes import read_modes as read_modes
    from dalembert.files.modal.modes import write_modes as write_modes
    from dalembert.files.models import list_models as list_models
    from dalembert.files.models import model_schema as model_schema
    from dalembert.files.models import read_model as read_model
    from dalembert.files.models import write_model as write_model
    from dalembert.files.records.records import read_record as read_record
    from dalembert.files.records.records import write_record as write_record
    from dalembert.files.records.responses import read_frequency_response as read_frequency_response
    from dalembert.files.records.responses import write_frequency_response as write_frequency_response
    from dalembert.files.robots.mjcf.reading import read_mjcf as read_mjcf
    from dalembert.files.robots.urdf import read_urdf as read_urdf
    from dalembert.files.robots.urdf_writer import write_urdf as write_urdf

__all__ = attach(__name__)
