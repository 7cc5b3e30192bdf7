"""Files counted by Spark, on a cluster or on this machine."""

from marginals.errors import InputError
from marginals.sources.counted import Source
from marginals.sources.files import Files, Format, csv_header
from marginals.sources.frames import LazyFrames


def spark_source(files: Files) -> Source:
    """The source of some files, in the Spark session that is active or a new one.

    Raises InputError where Spark or Java is missing.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError('the engine "spark" is not installed: pip install pyspark') from None
    paths = [str(path.resolve()) for path in files.paths]
    try:
        session = SparkSession.builder.getOrCreate()
        if files.format is Format.PARQUET:
            frame = session.read.parquet(*paths)
        else:
            files.same_columns([csv_header(path) for path in files.paths])
            frame = session.read.csv(
                paths,
                header=True,
                quote='"',
                escape='"',
                multiLine=True,
                nullValue="\x01",
                emptyValue="",
                mode="FAILFAST",
            )
    except (PySparkException, OSError, RuntimeError) as error:
        raise InputError(f"{files.name} cannot be read by Spark ({type(error).__name__}); it needs Java 17") from None
    return LazyFrames(LazyFrames.of(frame).frame, files.name)
